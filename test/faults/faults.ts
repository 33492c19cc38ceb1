import { holdAllConnections } from './connections.ts';
import { fakeClockLibrary, setClock } from './clock.ts';
import { whyNoMount } from './disk.ts';
import type { Part } from './part.ts';
import type { Pauses } from './pauses.ts';
import { askRedis } from './redis-part.ts';
import type { Needs, SetUp, SetUpName } from './set-up.ts';

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
  /** What must not happen under it. Empty: whatever is lost is documented. */
  readonly forbids: readonly Harm[];
  /** Why it cannot be had on this machine; undefined when it can. */
  readonly whyNot?: () => Promise<string | undefined>;
  readonly inject: Inject;
}

type Inject = (setUp: SetUp, pauses: Pauses, wait: Wait) => Promise<void>;

/** Waits so many milliseconds, unless the suite is stopped. */
type Wait = (milliseconds: number) => Promise<void>;

const BOTH: readonly SetUpName[] = ['redis-queue', 'postgres-queue'];
const REDIS: readonly SetUpName[] = ['redis-queue'];

/** Mostly nothing more is needed, and a refusal is right where nothing can be kept. */
const USUAL = { needs: {}, forbids: ['lost', 'doubled'] } as const;

/** Every fault that the suite knows. */
export const FAULTS: readonly Fault[] = [
  kill('ingest', BOTH),
  kill('worker', REDIS),
  kill('redis', REDIS),
  kill('postgres', BOTH),
  freeze('ingest', REDIS),
  freeze('worker', REDIS),
  freeze('redis', REDIS),
  freeze('postgres', BOTH),
  {
    ...USUAL,
    name: 'flush-strict',
    hits: ['redis', 'worker'],
    setUps: REDIS,
    needs: { settings: { DURABILITY: 'strict' } },
    inject: flushRedis,
  },
  {
    name: 'flush-normal',
    hits: ['redis', 'worker'],
    setUps: REDIS,
    needs: { settings: { DURABILITY: 'normal' } },
    forbids: [],
    inject: flushRedis,
  },
  { ...USUAL, name: 'redis-memory', hits: ['redis'], setUps: REDIS, inject: fillRedis },
  { ...USUAL, name: 'connections', hits: ['postgres'], setUps: BOTH, inject: exhaustConnections },
  {
    ...USUAL,
    name: 'disk-full',
    hits: ['redis', 'spool'],
    setUps: REDIS,
    // Full within seconds; the room that the program would keep free is more than all of it.
    needs: { spoolDiskBytes: 1024 * 1024, settings: { SPOOL_MIN_FREE_BYTES: '0' } },
    whyNot: whyNoMount,
    inject: (setUp, pauses, wait) => killed([redisOf(setUp)], pauses.refusing, wait),
  },
  clockJump(),
  { ...USUAL, name: 'cut-redis', hits: ['redis'], setUps: REDIS, needs: { proxies: true }, inject: cutRedis },
  {
    ...USUAL,
    name: 'cut-postgres',
    hits: ['postgres'],
    setUps: BOTH,
    needs: { proxies: true },
    inject: cutPostgres,
  },
  {
    ...USUAL,
    name: 'reset-network',
    hits: ['redis', 'postgres'],
    setUps: BOTH,
    needs: { proxies: true },
    inject: resetNetwork,
  },
  {
    ...USUAL,
    name: 'both-down',
    hits: ['redis', 'postgres'],
    setUps: BOTH,
    forbids: ['lost', 'doubled', 'refused', 'unanswered'],
    inject: (setUp, pauses, wait) => killed(serversOf(setUp), pauses.bothDown, wait),
  },
  {
    ...USUAL,
    name: 'start-while-down',
    hits: ['redis', 'postgres', 'ingest'],
    setUps: REDIS,
    // Until it runs nobody answers; from then on it must take everything.
    forbids: ['lost', 'doubled', 'refused'],
    inject: startWhileDown,
  },
];

function kill(target: HitPart, setUps: readonly SetUpName[]): Fault {
  return {
    ...USUAL,
    name: `kill-${target}`,
    hits: [target],
    setUps,
    inject: (setUp, pauses, wait) => killed([partOf(setUp, target)], pauses.killed, wait),
  };
}

function freeze(target: HitPart, setUps: readonly SetUpName[]): Fault {
  return {
    ...USUAL,
    name: `freeze-${target}`,
    hits: [target],
    setUps,
    inject: (setUp, pauses, wait) => frozen([partOf(setUp, target)], () => wait(pauses.frozen)),
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
    async inject({ clockFile }, pauses, wait) {
      await setClock(clockFile, 3_600);
      await wait(pauses.refusing);
      await setClock(clockFile, 0);
    },
  };
}

/** With the workers held back, so that there is something to lose. */
async function flushRedis(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await frozen(setUp.workers, async () => {
    await wait(pauses.killed);
    await askRedis(redisOf(setUp), 'FLUSHALL');
  });
}

async function fillRedis(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  const redis = redisOf(setUp);
  // Less than an empty Redis takes: each write is refused.
  await askRedis(redis, 'CONFIG', 'SET', 'maxmemory', '100kb');
  await wait(pauses.refusing);
  await askRedis(redis, 'CONFIG', 'SET', 'maxmemory', '0');
}

async function exhaustConnections({ postgres }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  await holdAllConnections(postgres.url(), () => wait(pauses.refusing));
}

async function cutRedis({ redisProxy }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  redisProxy?.stall();
  await wait(pauses.frozen);
  redisProxy?.heal();
}

async function cutPostgres({ postgresProxy }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  postgresProxy?.stall();
  await wait(pauses.frozen);
  postgresProxy?.heal();
}

async function resetNetwork({ redisProxy, postgresProxy }: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  redisProxy?.reset();
  postgresProxy?.reset();
  await wait(pauses.killed);
  redisProxy?.heal();
  postgresProxy?.heal();
}

async function startWhileDown(setUp: SetUp, pauses: Pauses, wait: Wait): Promise<void> {
  const servers = serversOf(setUp);
  await setUp.ingest.kill();
  await Promise.all(servers.map((server) => server.kill()));
  await setUp.ingest.start();
  await wait(pauses.bothDown);
  await Promise.all(servers.map((server) => server.start()));
}

async function killed(parts: readonly Part[], milliseconds: number, wait: Wait): Promise<void> {
  await Promise.all(parts.map((part) => part.kill()));
  await wait(milliseconds);
  await Promise.all(parts.map((part) => part.start()));
}

async function frozen(parts: readonly Part[], meanwhile: () => Promise<void>): Promise<void> {
  await Promise.all(parts.map((part) => part.freeze()));
  await meanwhile();
  await Promise.all(parts.map((part) => part.thaw()));
}

type HitPart = 'ingest' | 'worker' | 'redis' | 'postgres';

/** Of the workers, one: the other goes on. */
function partOf(setUp: SetUp, target: HitPart): Part {
  switch (target) {
    case 'ingest':
      return setUp.ingest;
    case 'worker':
      return setUp.workers[0] ?? setUp.ingest;
    case 'redis':
      return redisOf(setUp);
    case 'postgres':
      return setUp.postgres;
  }
}

function redisOf({ redis }: SetUp) {
  if (redis === undefined) throw new TypeError('the fault hits Redis, and this set-up has none');
  return redis;
}

const serversOf = ({ redis, postgres }: SetUp): readonly Part[] =>
  redis === undefined ? [postgres] : [redis, postgres];
