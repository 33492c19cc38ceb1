import type { Logger } from 'pino';
import { repeatInBackground } from '../../lib/repeat.ts';
import type { Db } from '../server/database.ts';
import { rollUpArrivals } from './roll-up-arrivals.ts';
import { rollUpSeen } from './roll-up-seen.ts';

/** Charts and directories are this much behind, unless there is much to count. */
const INTERVAL_MS = 5_000;

/**
 * To count people and devices takes 6 to 12 us an event. While there is more to count, the pause after each step is so many
 * times as long as the step, so that storing keeps the processor.
 */
const SEEN_REST_FACTOR = 3;

/** Counts what arrives, and the people and devices that the events name, from now on. */
export function startCounting(db: Db, logger: Logger, started: AsyncDisposableStack): void {
  repeatInBackground(
    {
      part: 'counting of arrivals',
      failure: 'arrivals were not counted',
      pauseMs: INTERVAL_MS,
      work: async () => void (await rollUpArrivals(db)),
    },
    logger,
    started,
  );
  let rest = INTERVAL_MS;
  repeatInBackground(
    {
      part: 'counting of people and devices',
      failure: 'people and devices were not counted',
      pauseMs: () => rest,
      async work() {
        const began = performance.now();
        const rolledUp = await rollUpSeen(db);
        const took = performance.now() - began;
        rest = rolledUp?.isBehind === true ? Math.min(SEEN_REST_FACTOR * took, INTERVAL_MS) : INTERVAL_MS;
      },
    },
    logger,
    started,
  );
}
