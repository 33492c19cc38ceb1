import { DelayedError } from 'bullmq';
import type { Job, Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import type { ReadDelivery } from './delivery-batch.ts';
import { engineAt } from './engine-at.ts';
import type { FailedJobs, OnError, QueueLocation } from './engine.ts';
import { queueNamesOf } from './lanes.ts';
import type { Lane } from './lanes.ts';
import { createBatchLog, logOutages } from './log.ts';
import { readBatch } from './read-batch.ts';

/** The consumer of the queue: runs until closed. */
export interface DeliveryWorker {
  /**
   * Resolves once it is connected. On Redis it waits for as long as that takes; on Postgres it rejects if the first
   * connection fails, and then the worker never works.
   */
  readonly ready: Promise<unknown>;
  /** Fetches no further job, finishes the current jobs or returns them to the queue, disconnects. */
  close(): Promise<void>;
}

/** The outcome of storing one batch. */
export interface StoredBatch {
  /** The deliveries that were not stored before. */
  readonly deliveries: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/**
 * Stores one batch. It waits for the end of an outage itself (a waiting job keeps its lock), and throws OutageError only
 * if it must stop waiting because of a shutdown.
 */
export type StoreBatch = (batch: { readonly deliveries: readonly ReadDelivery[] }) => Promise<StoredBatch>;

/**
 * Concurrent jobs of one process, of each queue of a lane: those that wait for a transaction share the next one. Few in
 * the bulk lane, because each is large, and because a source waits for the jobs that others have begun.
 */
const CONCURRENCY = { ordinary: 16, bulk: 2 };

const WORKER_OPTIONS = {
  // The batch of a killed worker goes to another within 15 s. A running worker renews its lock every 5 s.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // A batch may move to another worker any number of times; storing it twice changes nothing.
  maxStalledCount: 2 ** 31 - 1,
  // The pause before the next attempt to fetch or finish a job after a refused connection.
  runRetryDelay: 2_000,
};

/** The delay of a job returned at shutdown, so that the closing worker does not fetch it again. */
const GIVE_BACK_DELAY_MS = 1_000;

/** The delay of a job that failed with an error that no rule covers. */
const UNFORESEEN_DELAY_MS = 5_000;

/** The delay of a job written by a newer version before a worker looks at it again. */
const NEWER_DELAY_MS = 60_000;

/** Failed jobs are looked for at this interval. */
const SWEEP_INTERVAL_MS = 60_000;

interface DeliveryWorkerOptions {
  readonly lane?: Lane;
  readonly telemetry?: Telemetry | undefined;
  /** Called with the version of each job that a newer program wrote. */
  readonly onNewer?: (version: number) => void;
}

/** Starts to process the batches of a lane, by default of the ordinary one. */
export function startDeliveryWorker(
  location: QueueLocation,
  storeBatch: StoreBatch,
  logger: Logger,
  { lane = 'ordinary', telemetry, onNewer = () => undefined }: DeliveryWorkerOptions = {},
): DeliveryWorker {
  const onError = logOutages(logger, 'queue worker');
  const logBatch = createBatchLog(logger);

  /** Stores the batch of a job. Resolves with undefined if it is done, else with the delay until the next attempt (ms). */
  async function storeJob(job: Job<unknown>): Promise<number | undefined> {
    const { id, data, timestamp } = job;
    const read = readBatch(data, timestamp);
    if (read.kind === 'newer') {
      onError(
        new Error(`jobs of version ${read.version} need a newer version of xiq-sink: upgrade this worker`),
      );
      onNewer(read.version);
      return NEWER_DELAY_MS;
    }
    const { deliveries, malformed } = read;
    if (malformed > 0) logger.error({ job: id, malformed }, 'malformed deliveries in a job are quarantined');
    const began = performance.now();
    try {
      const stored = await storeBatch({ deliveries });
      logStored(job, deliveries, stored, performance.now() - began);
      return undefined;
    } catch (error) {
      if (error instanceof OutageError) return GIVE_BACK_DELAY_MS;
      logger.error({ err: error, job: id }, "can't store a batch; it will be retried");
      return UNFORESEEN_DELAY_MS;
    }
  }

  function logStored(
    { id, attemptsStarted }: Job<unknown>,
    deliveries: readonly ReadDelivery[],
    { events, duplicates, quarantined, ...stored }: StoredBatch,
    ms: number,
  ): void {
    const storedBefore = deliveries.length - stored.deliveries;
    const outcome = { events, duplicates, quarantined, storedBefore };
    logBatch(
      { job: id, attempt: attemptsStarted, ms: Math.round(ms), ...outcome },
      deliveries,
      'batch stored',
    );
  }

  async function processJob(job: Job<unknown>, token?: string): Promise<void> {
    const rest = await storeJob(job);
    // The list in which BullMQ hands jobs on keeps finished ones alive until the next full garbage collection.
    job.data = undefined;
    if (rest === undefined) return;
    await job.moveToDelayed(Date.now() + rest, token);
    throw new DelayedError();
  }

  const options = { ...WORKER_OPTIONS, concurrency: CONCURRENCY[lane], ...(telemetry && { telemetry }) };
  const workers = queueNamesOf(lane, location).map((name) => {
    const worker = engineAt(location).connectWorker(name, processJob, options, onError);
    worker.bullmq.on('error', onError);
    return { worker, stopSweep: startFailedJobSweep(worker.bullmq.getBackend(), logger, onError) };
  });
  const ready = Promise.all(workers.map(({ worker }) => worker.bullmq.waitUntilReady()));
  ready.catch(() => undefined);
  return {
    ready,
    async close() {
      const closing = workers.map(async ({ worker, stopSweep }) => {
        stopSweep();
        // Without a connection BullMQ would wait for one: jobs in progress go to another worker instead.
        await worker.bullmq.close(!worker.isConnected());
        await worker.disconnect();
      });
      await Promise.all(closing);
    },
  };
}

/**
 * Moves the jobs that BullMQ has given up back to waiting, now and every minute: no rule here fails a job, and all of
 * them contain acknowledged deliveries. Returns the function that ends the sweep.
 */
function startFailedJobSweep(jobs: FailedJobs, logger: Logger, onError: OnError): () => void {
  const sweep = async () => {
    try {
      const [failed = 0] = await jobs.getCounts(['failed']);
      if (failed === 0) return;
      while ((await jobs.retryFinishedJobs('failed')) !== 0);
      logger.error({ jobs: failed }, 'returned failed jobs to the queue');
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), SWEEP_INTERVAL_MS);
  return () => clearInterval(timer);
}
