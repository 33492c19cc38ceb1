import { DelayedError } from 'bullmq';
import type { Job, Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import { createBatchLog } from './batch-log.ts';
import { QUEUE_NAME } from './batch-queue.ts';
import type { ReadDelivery } from './delivery-batch.ts';
import { engineAt } from './engine.ts';
import type { QueueLocation } from './engine.ts';
import { startFailedJobSweep } from './failed-job-sweep.ts';
import { logOutages } from './log-outages.ts';
import { readBatch } from './read-batch.ts';

/** The consuming end: runs until closed. */
export interface DeliveryWorker {
  /**
   * Resolves once it is connected. On Redis it waits for that as long as it takes; on Postgres it rejects when the first
   * connection fails, and then the worker never works.
   */
  readonly ready: Promise<unknown>;
  /** Takes no further job, finishes those in hand or gives them back, disconnects. */
  close(): Promise<void>;
}

/** What became of the deliveries of one batch. */
interface StoredBatch {
  /** Those that were not stored before. */
  readonly deliveries: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
}

/**
 * Stores one batch. It waits out an outage itself (a waiting job keeps its lock), and throws OutageError only when
 * it was told to give up waiting.
 */
export type StoreBatch = (batch: { readonly deliveries: readonly ReadDelivery[] }) => Promise<StoredBatch>;

/** Jobs in hand at the same time in one process: those that wait for a transaction go together in the next. */
const CONCURRENCY = 16;

const WORKER_OPTIONS = {
  concurrency: CONCURRENCY,
  // A batch whose worker was killed goes to another within 15 s. The lock of a living one is renewed every 5 s.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // It is given on as often as it takes; storing it twice changes nothing.
  maxStalledCount: 2 ** 31 - 1,
  // After a refused connection, the next attempt to fetch or to finish.
  runRetryDelay: 2_000,
};

/** How long a job given back at shut-down rests, so that the closing worker does not take it again. */
const GIVE_BACK_DELAY_MS = 1_000;

/** How long a job rests that could not be stored for a reason that no rule foresees. */
const UNFORESEEN_DELAY_MS = 5_000;

/** How long a job of a newer program rests before a worker looks at it again. */
const NEWER_DELAY_MS = 60_000;

/** Starts to take batches from the queue. */
export function startDeliveryWorker(
  location: QueueLocation,
  storeBatch: StoreBatch,
  logger: Logger,
  telemetry?: Telemetry,
): DeliveryWorker {
  const onError = logOutages(logger, 'queue worker');
  const logBatch = createBatchLog(logger);

  /** Stores what a job holds. Resolves with how long it has to rest instead (ms), or undefined when it is done. */
  async function storeJob(job: Job<unknown>): Promise<number | undefined> {
    const { id, data, timestamp } = job;
    const read = readBatch(data, timestamp);
    if (read.kind === 'newer') {
      onError(new Error(`jobs of version ${read.version} wait for a newer program to store them`));
      return NEWER_DELAY_MS;
    }
    const { deliveries, malformed } = read;
    if (malformed > 0) logger.error({ job: id, malformed }, 'deliveries of a job go to quarantine unread');
    const began = performance.now();
    try {
      const stored = await storeBatch({ deliveries });
      logStored(job, deliveries, stored, performance.now() - began);
      return undefined;
    } catch (error) {
      if (error instanceof OutageError) return GIVE_BACK_DELAY_MS;
      logger.error({ err: error, job: id }, 'a batch could not be stored and will be tried again');
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

  const worker = engineAt(location).connectWorker(
    QUEUE_NAME,
    async (job, token) => {
      const rest = await storeJob(job);
      if (rest === undefined) return;
      await job.moveToDelayed(Date.now() + rest, token);
      throw new DelayedError();
    },
    telemetry === undefined ? WORKER_OPTIONS : { ...WORKER_OPTIONS, telemetry },
    onError,
  );
  worker.bullmq.on('error', onError);
  const stopSweep = startFailedJobSweep(worker.bullmq.getBackend(), logger, onError);
  const ready = worker.bullmq.waitUntilReady();
  ready.catch(() => undefined);
  return {
    ready,
    close: async () => {
      stopSweep();
      // Without a connection BullMQ would wait for one: jobs in progress go to another worker instead.
      await worker.bullmq.close(!worker.isConnected());
      await worker.disconnect();
    },
  };
}
