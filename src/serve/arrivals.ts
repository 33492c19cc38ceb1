import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { createSilenceWatch } from '../observe/silence-watch.ts';
import type { SilenceWatch } from '../observe/silence-watch.ts';
import type { Db } from '../store/database.ts';
import { rollUpArrivals } from '../store/roll-up-arrivals.ts';
import type { Opened } from './opened.ts';
import { repeat } from './repeat.ts';

/** Charts are behind by so much at most. */
const ROLL_UP_INTERVAL_MS = 5_000;

const SILENCE_INTERVAL_MS = 60_000;

interface ArrivalOptions {
  readonly db: Db;
  readonly logger: Logger;
}

/** Counts what arrives from now on, and watches whether it stops. Returns the watch. */
export function startArrivals({ db, logger }: ArrivalOptions, started: Opened): SilenceWatch {
  const rollUp = async () => ((await rollUpArrivals(db))?.isBehind === true ? 'more' : 'done');
  const counting = repeat(ROLL_UP_INTERVAL_MS, rollUp, (error) => {
    logger.warn({ err: error }, `arrivals were not counted: ${describeError(error)}`);
  });
  started.push('counting of arrivals', () => counting.stop());

  const watch = createSilenceWatch({ db, logger });
  const look = async () => {
    await watch.look(new Date());
    return 'done' as const;
  };
  const watching = repeat(SILENCE_INTERVAL_MS, look, (error) => {
    logger.warn({ err: error }, `silences were not looked for: ${describeError(error)}`);
  });
  started.push('silence watch', () => watching.stop());
  return watch;
}
