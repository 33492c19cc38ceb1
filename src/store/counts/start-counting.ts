import type { Logger } from 'pino';
import { repeatInBackground } from '../../lib/repeat.ts';
import type { Db } from '../server/database.ts';
import { rollUpArrivals } from './roll-up-arrivals.ts';
import { rollUpSeen } from './roll-up-seen.ts';

/** Charts and directories are this much behind, unless there is much to count. */
const INTERVAL_MS = 5_000;

/** A step counts as much as takes half to all of this time, between these limits. */
const STEP_MS = 150;
const [LEAST, MOST] = [512, 32_768];

/**
 * Counts what arrives, and the people and devices that the events name, from now on. While there is more to count, the pause
 * after each step is this many times as long as the step, so that storing keeps the CPU.
 */
export function startCounting(db: Db, logger: Logger, started: AsyncDisposableStack): void {
  function countInSteps(what: string, factor: number, step: (most: number) => Promise<boolean>): void {
    let rest = INTERVAL_MS;
    let most = LEAST;
    const work = async () => {
      const began = performance.now();
      const isBehind = await step(most);
      const took = performance.now() - began;
      if (took > STEP_MS) most = Math.max(LEAST, most / 2);
      else if (isBehind && took < STEP_MS / 2) most = Math.min(MOST, most * 2);
      rest = isBehind ? Math.min(factor * took, INTERVAL_MS) : INTERVAL_MS;
      return isBehind ? 'done' : 'idle';
    };
    const [part, failure] = [`counting of ${what}`, `${what} were not counted`];
    repeatInBackground({ part, failure, pauseMs: () => rest, work }, logger, started);
  }
  countInSteps('arrivals', 1, async (most) => ((await rollUpArrivals(db, most)) ?? 0) >= most);
  // They take 6 to 12 us an event.
  countInSteps('people and devices', 3, async (most) => (await rollUpSeen(db, most))?.isBehind === true);
}
