import { drawFaults, scheduleFaults, type Fault } from './faults.ts';
import { judge, judgeLog, judgeProcess, judgeSeal } from './oracle.ts';
import { Senders } from './senders.ts';
import { drawSetup } from './set-up.ts';
import { World } from './world.ts';

/** What to simulate. The same history always has the same outcome. */
export interface History {
  readonly seed: number;
  readonly deliveries: number;
  readonly faults: readonly Fault[];
}

export interface Outcome {
  readonly history: History;
  /** What went wrong, the first at the time it was seen. */
  readonly failures: readonly string[];
  readonly simulatedMs: number;
  readonly trace: string;
  readonly answers: {
    readonly accepted: number;
    readonly kept: number;
    readonly refused: number;
    readonly unanswered: number;
  };
  readonly lives: number;
}

/** Once senders and faults are over, everything must be stored within this time. */
const QUIET_WITHIN_MS = 15 * 60_000;

/** What is repeated without a pause until then does not end, either. */
const QUIET_WITHIN_TURNS = 2_000_000;

const LOOK_MS = 500;

export function drawHistory(seed: number, deliveries: number): History {
  const setup = drawSetup(seed, deliveries);
  const sendingMs = (deliveries * 1_000) / setup.perSecond;
  return { seed, deliveries, faults: drawFaults(seed, setup, sendingMs) };
}

/** Runs a history, and compares what is stored in the end with what was sent. `write` receives what happens, line by line. */
export async function simulate(history: History, write?: (line: string) => void): Promise<Outcome> {
  const { seed, deliveries, faults } = history;
  const world = new World(seed, deliveries, write);
  const onRejection = (reason: unknown) => world.fail(`unhandled: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  const senders = new Senders(world, deliveries);
  const faultsUntil = scheduleFaults(world, faults);
  let busyUntil = 0;
  let busyTurns = 0;
  let isProbed = false;
  let isOver = false;
  const look = () => {
    const { now, turns } = world.clockwork;
    if (!senders.areDone || now < faultsUntil) [busyUntil, busyTurns] = [now, turns];
    else if (isProbed) isOver = world.isQuiet();
    else if (world.isQuiet()) {
      isProbed = true;
      senders.probe();
    }
    if (now - busyUntil > QUIET_WITHIN_MS || turns - busyTurns > QUIET_WITHIN_TURNS)
      world.fail(`no end: ${world.describeRest()}`);
    for (const what of [...world.receivers.failures, ...world.database.log.failures]) world.fail(what);
    isOver ||= world.failures.length > 0;
    world.clockwork.after(LOOK_MS, look);
  };
  look();
  try {
    await world.clockwork.run(() => isOver);
  } finally {
    process.off('unhandledRejection', onRejection);
  }
  const failures =
    world.failures.length > 0
      ? world.failures
      : [
          ...judge(world.ledger, world.database),
          ...(world.setup.forwards ? judgeLog(world.database, world.receivers) : []),
          ...world.slots.flatMap(({ process: each }) => (each === undefined ? [] : [...judgeProcess(each)])),
          ...(await Array.fromAsync(judgeSeal(world.database))),
        ];
  for (const slot of world.slots) slot.process?.end();
  const trace = (world.clockwork.trace >>> 0).toString(16).padStart(8, '0');
  const lives = world.slots.reduce((sum, slot) => sum + slot.lives, 0);
  return { history, failures, simulatedMs: world.clockwork.now, trace, answers: world.ledger.answers, lives };
}
