import { fakeClockLibrary } from './clock.ts';
import { whyNoMount } from './disk.ts';
import * as inject from './injections.ts';
import type { HitPart, Inject } from './injections.ts';
import type { Needs, SetUpName } from './set-up.ts';

/** What the columns of a row may have to show none of. */
export type Harm = 'lost' | 'doubled' | 'refused' | 'unanswered';

/** What a fault hits: two that hit the same are not drawn together. */
type Target = 'ingest' | 'worker' | 'redis' | 'postgres' | 'clock' | 'spool';

/** A fault, from its injection to the moment it is healed. */
export interface Fault {
  readonly name: string;
  readonly hits: readonly Target[];
  readonly setUps: readonly SetUpName[];
  readonly needs: Needs;
  /** Whether it is never drawn together with others: it is several faults already. */
  readonly isAlone?: boolean;
  /** What must not happen under it. A loss that may happen is documented. */
  readonly forbids: readonly Harm[];
  /** Why it cannot be had on this machine; undefined when it can. */
  readonly whyNot?: () => Promise<string | undefined>;
  readonly inject: Inject;
}

const BOTH: readonly SetUpName[] = ['redis-queue', 'postgres-queue'];
const REDIS: readonly SetUpName[] = ['redis-queue'];

/** Mostly nothing more is needed, and what the queue does not take the spool does. */
const USUAL = { needs: {}, forbids: ['lost', 'doubled', 'refused'] } as const;

/** Every fault that the suite knows. */
export const FAULTS: readonly Fault[] = [
  kill('ingest', BOTH),
  kill('worker', REDIS),
  kill('redis', REDIS),
  kill('postgres', BOTH),
  freeze('ingest', BOTH),
  freeze('worker', REDIS),
  freeze('redis', REDIS),
  freeze('postgres', BOTH),
  {
    ...USUAL,
    name: 'flush-strict',
    hits: ['redis', 'worker'],
    setUps: REDIS,
    needs: { settings: { DURABILITY: 'strict' } },
    inject: inject.flushRedis,
  },
  {
    name: 'flush-normal',
    hits: ['redis', 'worker'],
    setUps: REDIS,
    needs: { settings: { DURABILITY: 'normal' } },
    forbids: ['doubled'],
    inject: inject.flushRedis,
  },
  { ...USUAL, name: 'redis-memory', hits: ['redis'], setUps: REDIS, inject: inject.fillRedis },
  { ...USUAL, name: 'connections', hits: ['postgres'], setUps: BOTH, inject: inject.exhaustConnections },
  {
    name: 'disk-full',
    // A refusal is right where nothing can be kept.
    forbids: ['lost', 'doubled'],
    hits: ['redis', 'spool'],
    setUps: REDIS,
    // Full within seconds; the room that the program would keep free is more than all of it.
    needs: { spoolDiskBytes: 1024 * 1024, settings: { SPOOL_MIN_FREE_BYTES: '0' } },
    whyNot: whyNoMount,
    inject: inject.keepRedisAway,
  },
  clockJump(),
  {
    ...USUAL,
    name: 'cut-redis',
    hits: ['redis'],
    setUps: REDIS,
    needs: { proxies: true },
    inject: inject.pullCable('redisProxy'),
  },
  {
    ...USUAL,
    name: 'cut-postgres',
    hits: ['postgres'],
    setUps: BOTH,
    needs: { proxies: true },
    inject: inject.pullCable('postgresProxy'),
  },
  {
    ...USUAL,
    name: 'reset-network',
    hits: ['redis', 'postgres'],
    setUps: BOTH,
    needs: { proxies: true },
    inject: inject.resetNetwork,
  },
  {
    ...USUAL,
    name: 'both-down',
    isAlone: true,
    hits: ['redis', 'postgres'],
    setUps: BOTH,
    forbids: ['lost', 'doubled', 'refused', 'unanswered'],
    inject: inject.keepServersAway,
  },
  {
    ...USUAL,
    // Until it runs nobody answers; from then on it must take everything.
    name: 'start-while-down',
    isAlone: true,
    hits: ['redis', 'postgres', 'ingest'],
    setUps: REDIS,
    inject: inject.startWhileDown,
  },
];

function kill(target: HitPart, setUps: readonly SetUpName[]): Fault {
  return {
    ...USUAL,
    name: `kill-${target}`,
    hits: [target],
    setUps,
    inject: inject.killPart(target),
  };
}

function freeze(target: HitPart, setUps: readonly SetUpName[]): Fault {
  return {
    ...USUAL,
    name: `freeze-${target}`,
    hits: [target],
    setUps,
    inject: inject.freezePart(target),
  };
}

function clockJump(): Fault {
  const library = fakeClockLibrary();
  return {
    ...USUAL,
    name: 'clock-jump',
    hits: ['clock'],
    setUps: REDIS,
    needs: library === undefined ? {} : { fakeClock: library },
    whyNot: async () => (library === undefined ? 'libfaketime is not installed' : undefined),
    inject: inject.jumpClock,
  };
}
