import { DelayedError } from 'bullmq';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import { DeliveryBatch } from './delivery-batch.ts';
import { QUEUE_NAME } from './batch-queue.ts';
import { engineAt } from './engine.ts';
import type { QueueLocation } from './engine.ts';
import { logOutages } from './log-outages.ts';

/** The consuming end: runs until closed. */
export interface DeliveryWorker {
  /** Takes no further job, finishes those in hand or gives them back, disconnects. */
  close(): Promise<void>;
}

/**
 * Stores one batch. It waits out an outage itself (a waiting job keeps its lock), and throws OutageError only when
 * it was told to give up waiting.
 */
export type StoreBatch = (batch: DeliveryBatch) => Promise<void>;

/** Jobs in hand at the same time in one process: those that wait for a transaction go together in the next. */
const CONCURRENCY = 16;

const WORKER_OPTIONS = {
  concurrency: CONCURRENCY,
  // A batch whose worker was killed goes to another within 15 s. The lock of a living one is renewed every 5 s.
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // It is given on as often as it takes; storing it twice changes nothing.
  maxStalledCount: 2 ** 31 - 1,
};

/** How long a job given back at shut-down rests, so that the closing worker does not take it again. */
const GIVE_BACK_DELAY_MS = 1_000;

/** Starts to take batches from the queue. */
export function startDeliveryWorker(
  location: QueueLocation,
  storeBatch: StoreBatch,
  logger: Logger,
): DeliveryWorker {
  const onError = logOutages(logger, 'queue worker');
  const worker = engineAt(location).connectWorker(
    QUEUE_NAME,
    async (job, token) => {
      try {
        await storeBatch(DeliveryBatch.parse(job.data));
      } catch (error) {
        if (error instanceof OutageError) {
          await job.moveToDelayed(Date.now() + GIVE_BACK_DELAY_MS, token);
          throw new DelayedError();
        }
        logger.error({ err: error, job: job.id }, 'a batch could not be stored and will be tried again');
        throw error;
      }
    },
    WORKER_OPTIONS,
    onError,
  );
  worker.bullmq.on('error', onError);
  return {
    close: async () => {
      await worker.bullmq.close();
      await worker.disconnect();
    },
  };
}
