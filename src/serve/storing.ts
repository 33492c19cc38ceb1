import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { LANES } from '../queue/lanes.ts';
import { createSilenceWatch } from '../observe/silence-watch.ts';
import type { SilenceWatch } from '../observe/silence-watch.ts';
import { rollUpArrivals } from '../store/roll-up-arrivals.ts';
import type { Db } from '../store/database.ts';
import { limitQuarantine } from '../store/limit-quarantine.ts';
import { limitReaders } from '../store/limit-readers.ts';
import { claimQueue } from './claim-queue.ts';
import { closing } from './closing.ts';
import { startMaintenance } from './maintenance.ts';
import type { Observation } from './observation.ts';
import { startLane } from './start-lane.ts';
import type { LaneOptions } from './start-lane.ts';
import { repeat } from './repeat.ts';

/** The database to store in, and the queue that batches come from. */
export interface StoringOptions extends LaneOptions {
  readonly config: Config;
  readonly db: Db;
  readonly observation: Observation;
}

/** Charts are at most this much behind. */
const ROLL_UP_INTERVAL_MS = 5_000;

const SILENCE_INTERVAL_MS = 60_000;

/** A flood of unreadable bodies may exceed the limits of quarantine for so long. */
const QUARANTINE_INTERVAL_MS = 60_000;
const READERS_INTERVAL_MS = 30_000;

/** Starts to maintain the tables and to store. The tables must be up to date. Returns the silence watch. */
export async function startStoring(
  options: StoringOptions,
  started: AsyncDisposableStack,
): Promise<SilenceWatch> {
  await startMaintenance(options, started);
  const watch = startArrivals(options, started);
  startQuarantineLimits(options, started);
  startReaderLimits(options, started);
  await claimQueue(options);
  await Promise.all(LANES.map((lane) => startLane(lane, options, started)));
  return watch;
}

/** Deletes quarantined content beyond the limits, now and every minute. */
function startQuarantineLimits(
  { config, db, observation, logger }: StoringOptions,
  started: AsyncDisposableStack,
): void {
  const limit = async () => {
    for (const dropped of await limitQuarantine(db, new Date(), config.quarantine)) {
      observation.onQuarantineDropped(dropped);
      logger.warn(dropped, 'quarantined content was deleted, because it exceeded a limit');
    }
    return 'done' as const;
  };
  const limiting = repeat(QUARANTINE_INTERVAL_MS, limit, (error) => {
    logger.warn({ err: error }, `quarantine was not limited: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'limits of quarantine', () => limiting.stop()));
}

/** Ends sessions of the reading role that take too long, now and every half a minute. */
function startReaderLimits(
  { db, logger }: Pick<StoringOptions, 'db' | 'logger'>,
  started: AsyncDisposableStack,
): void {
  const limit = async () => {
    for (const ended of await limitReaders(db)) {
      logger.warn(ended, 'a session of xiq_reader was ended, because its transaction took too long');
    }
    return 'done' as const;
  };
  const limiting = repeat(READERS_INTERVAL_MS, limit, (error) => {
    logger.warn({ err: error }, `sessions of xiq_reader were not limited: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'limits of readers', () => limiting.stop()));
}

/** Counts arrivals from now on, and watches for silences. Returns the watch. */
function startArrivals(
  { db, logger }: Pick<StoringOptions, 'db' | 'logger'>,
  started: AsyncDisposableStack,
): SilenceWatch {
  const rollUp = async () => ((await rollUpArrivals(db))?.isBehind === true ? 'more' : 'done');
  const counting = repeat(ROLL_UP_INTERVAL_MS, rollUp, (error) => {
    logger.warn({ err: error }, `arrivals were not counted: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'counting of arrivals', () => counting.stop()));

  const watch = createSilenceWatch({ db, logger });
  const look = async () => {
    await watch.look(new Date());
    return 'done' as const;
  };
  const watching = repeat(SILENCE_INTERVAL_MS, look, (error) => {
    logger.warn({ err: error }, `silences were not checked: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'silence watch', () => watching.stop()));
  return watch;
}
