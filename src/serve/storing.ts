import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import type { OnStored } from '../handlers/store-batch.ts';
import { startDeliveryWorker } from '../queue/delivery-worker.ts';
import type { DeliveryWorker, StoreBatch } from '../queue/delivery-worker.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { LANES } from '../queue/lanes.ts';
import type { Lane } from '../queue/lanes.ts';
import { createSilenceWatch } from '../observe/silence-watch.ts';
import type { SilenceWatch } from '../observe/silence-watch.ts';
import type { TypeSilence } from '../observe/silence.ts';
import { sumStored } from '../observe/sum-stored.ts';
import { rollUpArrivals } from '../store/roll-up-arrivals.ts';
import { rollUpSeen } from '../store/roll-up-seen.ts';
import { checkDatabase, openStoringDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { followGaps } from '../store/gaps.ts';
import type { Doubt } from '../store/gaps.ts';
import { limitQuarantine } from '../store/limit-quarantine.ts';
import { limitReaders } from '../store/limit-readers.ts';
import { openFor, repeatInBackground } from './background.ts';
import { claimQueue } from './claim-queue.ts';
import { closing } from './closing.ts';
import { startGdprErasures } from './gdpr-erasures.ts';
import { startMaintenance } from './maintenance.ts';
import type { Observation } from './observation.ts';

/** The database to store in, and the queue that batches come from. */
export interface StoringOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly queueLocation: QueueLocation;
  readonly observation: Observation;
  readonly logger: Logger;
}

type Storage = Pick<StoringOptions, 'db' | 'logger'>;

/** Charts and directories are this much behind, unless there is much to count. */
const ROLL_UP_INTERVAL_MS = 5_000;

/**
 * To count people and devices takes 6 to 12 us an event. While there is more to count, the pause after each step is so many
 * times as long as the step, so that storing keeps the processor.
 */
const SEEN_REST_FACTOR = 3;

const SILENCE_INTERVAL_MS = 60_000;

/**
 * Transactions of ordinary deliveries at a time: while Postgres stores two, the events of the next are made. With 20
 * records a delivery this stores 1.3 times as much as one at a time, and the backlog of a full load is gone at its end
 * instead of 10 s later. Large deliveries take turns one by one.
 */
const TRANSACTIONS = { ordinary: 3, bulk: 1 };

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
  startDirectories(options, started);
  startQuarantineLimits(options, started);
  startReaderLimits(options, started);
  startGdprErasures(options, started);
  await claimQueue(options);
  const workers = LANES.map((lane) => startWorker(lane, options, started));
  if (options.queueLocation.kind === 'postgres') await Promise.all(workers.map(({ ready }) => ready));
  return watch;
}

/** Each lane has its own transactions, on connections of its own: none waits for those of the other. */
function startWorker(
  lane: Lane,
  { config, databaseUrl, queueLocation, observation, logger }: StoringOptions,
  started: AsyncDisposableStack,
): DeliveryWorker {
  const isBulk = lane === 'bulk';
  const giveUp = new AbortController();
  const db = openFor('the worker', openStoringDatabase, { databaseUrl, logger }, started);
  const { storing, traces } = observation;
  const onStored: OnStored = (rows, seconds) => {
    if (!isBulk) storing.stored();
    observation.onStored(sumStored(rows), seconds);
  };
  observation.addPool(isBulk ? 'storing (bulk)' : 'storing', () => checkDatabase(db), started);
  const onWaiting = isBulk ? undefined : (reason: string) => storing.waiting(reason);
  const store = createBatchStore(db, logger, giveUp.signal, {
    onStored,
    onWaiting,
    erasureKeyFile: config.erasureKeyFile,
    atOnce: TRANSACTIONS[lane],
  });
  const storeTraced: StoreBatch =
    traces === undefined ? store : (batch) => traces.store(batch.deliveries, () => store(batch));
  // Readiness follows ordinary deliveries: a transaction of the bulk lane may take long without anything being wrong.
  const storeObserved: StoreBatch = async (batch) => {
    const ended = storing.began();
    try {
      return await storeTraced(batch);
    } finally {
      ended();
    }
  };
  const worker = startDeliveryWorker(queueLocation, isBulk ? storeTraced : storeObserved, logger, {
    lane,
    telemetry: traces?.telemetry,
    onNewer: (version) => storing.tooNew(version),
  });
  const close = () => {
    giveUp.abort();
    return worker.close();
  };
  started.defer(closing(logger, 'worker', close));
  return worker;
}

/** Deletes quarantined content beyond the limits, now and every minute. */
function startQuarantineLimits(
  { config, db, observation, logger }: StoringOptions,
  started: AsyncDisposableStack,
): void {
  const work = async () => {
    for (const dropped of await limitQuarantine(db, new Date(), config.quarantine)) {
      observation.onQuarantineDropped(dropped);
      logger.warn(dropped, 'quarantined content was deleted, because it exceeded a limit');
    }
  };
  const failure = 'quarantine was not limited';
  repeatInBackground(
    { part: 'limits of quarantine', failure, pauseMs: QUARANTINE_INTERVAL_MS, work },
    logger,
    started,
  );
}

/** Ends sessions of the reading role that take too long, now and every half a minute. */
function startReaderLimits({ db, logger }: Storage, started: AsyncDisposableStack): void {
  const work = async () => {
    for (const ended of await limitReaders(db)) {
      logger.warn(ended, 'a session of xiq_reader was ended, because its transaction took too long');
    }
  };
  const failure = 'sessions of xiq_reader were not limited';
  repeatInBackground(
    { part: 'limits of readers', failure, pauseMs: READERS_INTERVAL_MS, work },
    logger,
    started,
  );
}

/** Counts arrivals from now on, and watches for silences. Returns the watch. */
function startArrivals({ db, logger }: Storage, started: AsyncDisposableStack): SilenceWatch {
  const rollUp = async () => ((await rollUpArrivals(db))?.isBehind === true ? 'more' : 'done');
  const counting = { part: 'counting of arrivals', failure: 'arrivals were not counted', work: rollUp };
  repeatInBackground({ ...counting, pauseMs: ROLL_UP_INTERVAL_MS }, logger, started);

  const watch = createSilenceWatch({ db, logger });
  const look = async () => {
    const now = new Date();
    await watch.look(now);
    await followGaps(db, { reasons: ['silence'] }, watch.latest().flatMap(doubtsOf), now);
  };
  const watching = { part: 'silence watch', failure: 'silences were not checked', work: look };
  repeatInBackground({ ...watching, pauseMs: SILENCE_INTERVAL_MS }, logger, started);
  return watch;
}

/** Counts whom and what the events name, for the directories of people and devices. */
function startDirectories({ db, logger }: Storage, started: AsyncDisposableStack): void {
  let rest = ROLL_UP_INTERVAL_MS;
  const work = async () => {
    const began = performance.now();
    const rolledUp = await rollUpSeen(db);
    const took = performance.now() - began;
    rest =
      rolledUp?.isBehind === true
        ? Math.min(SEEN_REST_FACTOR * took, ROLL_UP_INTERVAL_MS)
        : ROLL_UP_INTERVAL_MS;
  };
  const failure = 'people and devices were not counted';
  repeatInBackground(
    { part: 'counting of people and devices', failure, pauseMs: () => rest, work },
    logger,
    started,
  );
}

function doubtsOf({ source, messageType, state, lastReceivedAt, expected }: TypeSilence): Doubt[] {
  if (state !== 'unusual') return [];
  const detail = { usual_deliveries: Math.round(expected) };
  return [{ source, messageType, reason: 'silence', since: lastReceivedAt, detail }];
}
