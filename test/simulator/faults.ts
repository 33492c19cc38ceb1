import { createRandom, type Random } from '../../emulator/random.ts';
import { DESTINATIONS } from './receivers.ts';
import type { Setup } from './set-up.ts';
import type { Trouble } from './troubles.ts';
import type { Slot, World } from './world.ts';

/** Something that goes wrong at a time, for a while. */
export interface Fault {
  readonly kind: FaultKind;
  readonly at: number;
  readonly forMs: number;
  /** Which process or machine, and how much: each fault reads it in its way. */
  readonly target: number;
  readonly amount: number;
}

interface FaultRule {
  /** Between how many and how many milliseconds it lasts. */
  readonly forMs: readonly [number, number];
  /** Between how much and how much, in steps of equal ratio. */
  readonly amount?: readonly [number, number];
  /** In half of the cases this one begins shortly before it. */
  readonly meets?: 'destinations are slow';
  /** Only where the documents promise that nothing is lost by it. */
  readonly isPossible?: (setup: Setup) => boolean;
  /** Begins it. Returns how it ends. */
  readonly begin: (world: World, fault: Fault) => (() => void) | void;
}

const MINUTE = 60_000;

const slotOf = ({ slots }: World, { target }: Fault): Slot | undefined => slots[target % slots.length];
const machineOf = ({ machines }: World, { target }: Fault) => machines[target % machines.length];
/** Only ingest processes write to their disks. */
const ingestOf = ({ ingests }: World, { target }: Fault) => ingests[target % ingests.length];
const diskOf = (world: World, fault: Fault) => ingestOf(world, fault)?.machine.disk;

const trouble = (
  name: Trouble,
  forMs: FaultRule['forMs'],
  amount: FaultRule['amount'] = [0.01, 1],
): FaultRule => ({
  forMs,
  amount,
  begin({ troubles }, { amount: share }) {
    troubles.begin(name, share);
    return () => troubles.end(name);
  },
});

/** What `moveCursor` sends, unless another has moved the cursor further back meanwhile: forward would leave events out. */
const MOVE_CURSOR =
  'update "destinations" set "cursor_position" = $1, "generation" = generation + 1 where "name" = $2 and "cursor_position" >= $1';

const RULES = {
  kill: {
    forMs: [1, 30_000],
    begin(world, fault) {
      const slot = slotOf(world, fault);
      if (slot !== undefined) world.kill(slot, fault.forMs);
    },
  },
  'power loss': {
    forMs: [1_000, 30_000],
    begin(world, fault) {
      const machine = machineOf(world, fault);
      for (const slot of world.slots) if (slot.machine === machine) world.kill(slot, fault.forMs, true);
      machine?.disk.losePower(createRandom(world.seed, `power loss at ${fault.at}`));
    },
  },
  SIGTERM: {
    forMs: [1, 10_000],
    begin(world, fault) {
      const slot = slotOf(world, fault);
      if (slot !== undefined) world.terminate(slot, fault.forMs);
    },
  },
  upgrade: {
    forMs: [1_000, 2 * MINUTE],
    amount: [1, 10_000],
    begin(world, { forMs, target, amount }) {
      const { slots, clockwork } = world;
      for (const [at, slot] of [...slots.slice(target % slots.length), ...slots]
        .slice(0, slots.length)
        .entries()) {
        clockwork.after((forMs * at) / slots.length, () => {
          slot.isUpgraded = true;
          world.terminate(slot, amount);
        });
      }
      return undefined;
    },
  },
  SIGSTOP: {
    forMs: [100, 40_000],
    begin(world, fault) {
      const slot = slotOf(world, fault);
      if (slot?.process !== undefined) slot.process.stillUntil = world.clockwork.now + fault.forMs;
    },
  },
  'clock jumps': {
    forMs: [1_000, MINUTE / 2],
    amount: [1_000, 60 * MINUTE],
    begin(world, fault) {
      // Those of ingest processes tell each other by it who is alive.
      const { machine } = (fault.target % 4 === 0 ? slotOf(world, fault) : ingestOf(world, fault)) ?? {};
      if (machine === undefined) return undefined;
      // Some are set again and again.
      const everyMs = fault.target % 3 === 0 ? fault.forMs : 500 + 100 * fault.target;
      let ms = fault.target % 2 === 0 ? fault.amount : -fault.amount;
      const jump = () => {
        machine.clockAheadMs += ms;
        ms = -ms;
      };
      for (let at = 0; at <= fault.forMs; at += 2 * everyMs) {
        world.clockwork.after(at, jump);
        world.clockwork.after(Math.min(at + everyMs, fault.forMs), jump);
      }
      return undefined;
    },
  },
  'disk is full': {
    forMs: [1_000, 2 * MINUTE],
    amount: [1, 4 * 1024 * 1024],
    begin(world, fault) {
      const disk = diskOf(world, fault);
      if (disk === undefined) return undefined;
      // A quota is not what the file system says.
      disk.roomBytes = Math.round(fault.amount);
      disk.reportsFree = fault.target % 3 === 0 ? undefined : 1024 ** 3;
      return () => {
        disk.roomBytes = undefined;
        disk.reportsFree = undefined;
      };
    },
  },
  'disk is slow': {
    forMs: [1_000, MINUTE],
    amount: [10, 5_000],
    begin(world, fault) {
      const disk = diskOf(world, fault);
      if (disk === undefined) return undefined;
      disk.slowness = fault.amount;
      return () => {
        disk.slowness = 1;
      };
    },
  },
  'disk fails to sync': {
    forMs: [1_000, 30_000],
    amount: [0.05, 1],
    begin(world, fault) {
      const disk = diskOf(world, fault);
      if (disk === undefined) return undefined;
      disk.syncFailures = fault.amount;
      return () => {
        disk.syncFailures = 0;
      };
    },
  },
  'queue loses everything': {
    forMs: [1, 1],
    isPossible: ({ isStrict }) => isStrict,
    begin({ queues }) {
      for (const queue of queues.all.values()) queue.flush();
    },
  },
  'failover without loss': {
    forMs: [500, 20_000],
    begin: (world) => failOver(world, 0),
  },
  'failover that loses commits': {
    forMs: [10, 20_000],
    meets: 'destinations are slow',
    amount: [1_000, 20_000],
    isPossible: ({ isStrict, keepMs }) => isStrict && keepMs >= 30_000,
    // docs/durability.md: without room, the oldest kept deliveries are removed early.
    begin: (world, fault) => failOver(world, world.hasKeptLess ? 0 : fault.amount),
  },
  'queue refuses': trouble('queue refuses', [100, 2 * MINUTE]),
  'queue is unheard': trouble('queue is unheard', [100, MINUTE]),
  'queue answers are lost': trouble('queue answers are lost', [100, 30_000]),
  'queue hears twice': trouble('queue hears twice', [1_000, MINUTE]),
  'queue is slow': trouble('queue is slow', [1_000, MINUTE], [100, 100_000]),
  'database refuses': trouble('database refuses', [100, 2 * MINUTE]),
  'database is unheard': trouble('database is unheard', [100, 90_000], [0.001, 1]),
  'database connections break': trouble('database connections break', [100, MINUTE], [0.001, 0.5]),
  'database answers are lost': trouble('database answers are lost', [100, MINUTE], [0.01, 0.9]),
  'database is slow': trouble('database is slow', [1_000, MINUTE], [100, 20_000]),
  'database conflicts': trouble('database conflicts', [1_000, MINUTE], [0.001, 0.3]),
  'database disk is full': trouble('database disk is full', [100, MINUTE]),
  'database is read-only': trouble('database is read-only', [100, MINUTE]),
  'database has no connections left': trouble('database has no connections left', [100, MINUTE]),
  'destinations fail': {
    forMs: [100, MINUTE],
    amount: [0.05, 1],
    isPossible: ({ forwards }) => forwards,
    begin({ receivers }, { amount }) {
      receivers.outage = amount;
      return () => {
        receivers.outage = 0;
      };
    },
  },
  'destinations are slow': {
    forMs: [1_000, MINUTE],
    amount: [2, 30],
    isPossible: ({ forwards }) => forwards,
    begin({ receivers }, { amount }) {
      receivers.slowness = amount;
      return () => {
        receivers.slowness = 1;
      };
    },
  },
  'cursor is moved back': {
    forMs: [1, 1],
    amount: [0.01, 1],
    isPossible: ({ forwards }) => forwards,
    begin: ({ database }, { amount, target }) => {
      const name = DESTINATIONS[target % DESTINATIONS.length] ?? DESTINATIONS[0];
      const session = database.connect(() => undefined);
      const position = Math.floor(database.log.cursorOf(name) * amount);
      database.execute(session, MOVE_CURSOR, [position, name]).then(
        () => database.disconnect(session),
        () => undefined,
      );
    },
  },
} satisfies Readonly<Record<string, FaultRule>>;

type FaultKind = keyof typeof RULES;

/** `RULES` with all that a rule may have. */
const RULE_OF: Readonly<Record<FaultKind, FaultRule>> = RULES;

const FAULT_KINDS = Object.keys(RULES).filter((kind): kind is FaultKind => kind in RULES);

function failOver(world: World, lagMs: number): () => void {
  world.database.failOver(lagMs);
  world.troubles.begin('database refuses', 1);
  return () => world.troubles.end('database refuses');
}

/** The share of kinds that a run has: one of these. */
const KINDS = [0.15, 0.35, 0.7] as const;

/** Faults that meet begin within so long, several times in a run. */
const MEETING_MS = 10_000;
const MOST_MEETINGS = 3;

/** Draws the faults of a run in which senders begin for so long. A few kinds each time, as in a swarm. */
export function drawFaults(seed: number, setup: Setup, sendingMs: number): readonly Fault[] {
  const random = createRandom(seed, 'faults');
  const forMs = Math.max(20_000, sendingMs);
  const faults: Fault[] = [];
  const kinds = random.pick(KINDS);
  // Faults that need each other seldom meet by chance.
  const meetings = random.chance(0.5)
    ? Array.from({ length: random.int(1, MOST_MEETINGS) }, () => random.int(0, Math.round(sendingMs)))
    : [];
  for (const kind of FAULT_KINDS) {
    const rule = RULE_OF[kind];
    const isOn = random.chance(kinds) && rule.isPossible?.(setup) !== false;
    const count = random.pick([1, 2, 3, 6]);
    const own = createRandom(seed, kind);
    if (isOn)
      for (let at = 0; at < count; at += 1) {
        const fault = draw(kind, rule, own, forMs, meetings);
        faults.push(fault, ...drawCompanion(fault, setup, own));
      }
  }
  return faults.toSorted((a, b) => a.at - b.at);
}

/** What was begun before a fault and ends after it is found only if it takes long. */
function drawCompanion({ kind, at }: Fault, setup: Setup, random: Random): readonly Fault[] {
  const { meets } = RULE_OF[kind];
  if (meets === undefined || RULE_OF[meets].isPossible?.(setup) === false || random.chance(0.5)) return [];
  const companion = draw(meets, RULE_OF[meets], random, 0, []);
  return [{ ...companion, at: Math.max(0, at - random.int(0, 2_000)) }];
}

function draw(
  kind: FaultKind,
  { forMs, amount = [1, 1] }: FaultRule,
  random: Random,
  untilMs: number,
  meetings: readonly number[],
): Fault {
  const meetAt = random.pickAny(meetings);
  const between = ([least, most]: readonly [number, number]) =>
    least * (most / least) ** (random.int(0, 1_000) / 1_000);
  return {
    kind,
    at: meetAt === undefined ? random.int(0, Math.round(untilMs)) : meetAt + random.int(0, MEETING_MS),
    forMs: Math.round(between(forMs)),
    target: random.int(0, 59),
    amount: between(amount),
  };
}

/** Lets the faults happen. Returns the time when all are over. */
export function scheduleFaults(world: World, faults: readonly Fault[]): number {
  for (const fault of faults) {
    world.clockwork.after(fault.at, () => {
      world.log('FAULT', () => describeFault(fault));
      world.clockwork.note(fault.kind);
      const end = RULE_OF[fault.kind].begin(world, fault);
      if (end !== undefined) world.clockwork.after(fault.forMs, end);
    });
  }
  return Math.max(0, ...faults.map(({ at, forMs }) => at + forMs));
}

export const describeFault = ({ kind, at, forMs, target, amount }: Fault): string =>
  `${kind} at ${(at / 1000).toFixed(3)} s for ${(forMs / 1000).toFixed(3)} s (target ${target}, amount ${amount.toPrecision(3)})`;
