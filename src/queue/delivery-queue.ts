import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import { weighDelivery } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import { engineAt } from './engine.ts';
import type { QueueLocation } from './engine.ts';
import { createGroupCommit } from './group-commit.ts';
import { logOutages } from './log-outages.ts';

/** The producing end: what the ingest endpoint hands deliveries to. */
export interface DeliveryQueue {
  /** Resolves once the delivery is durable in the queue. Throws OutageError when the queue cannot take it. */
  enqueue(delivery: QueuedDelivery): Promise<void>;
  /** Throws OutageError when the queue's engine does not answer. */
  check(): Promise<void>;
  /** Waits for what was handed over, then disconnects. */
  close(): Promise<void>;
}

/** The BullMQ queue that deliveries go through. */
export const QUEUE_NAME = 'deliveries';

/** BullMQ writes two events a job to a stream that nothing here reads. */
const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } }, skipMetasUpdate: true };

/** One job: at most 512 deliveries or 1 MiB of them; a delivery larger than that goes alone. */
const GROUP_BOUNDS = { maxItems: 512, maxBytes: 1024 * 1024 };

/** How long a sender waits for the queue before it is told to come back. */
const ENQUEUE_TIMEOUT_MS = 5_000;

const JOB_OPTIONS = {
  removeOnComplete: true,
  removeOnFail: false,
  // An error that no rule of the worker foresees must not end a job: it comes back until somebody mends it.
  attempts: 2 ** 31 - 1,
  backoff: { type: 'fixed', delay: 5_000 },
  stackTraceLimit: 1,
};

/** Opens the queue for writing. Deliveries that arrive during one write go together in the next. */
export function openDeliveryQueue(location: QueueLocation, logger: Logger): DeliveryQueue {
  const onError = logOutages(logger, 'queue');
  const producer = engineAt(location).connectProducer(QUEUE_NAME, QUEUE_OPTIONS, onError);
  producer.bullmq.on('error', onError);
  const group = createGroupCommit<QueuedDelivery>(async (deliveries) => {
    const job = producer.bullmq.add('batch', { version: 1, deliveries: [...deliveries] }, JOB_OPTIONS);
    await withinTimeout(job, 'the queue did not take a batch');
  }, GROUP_BOUNDS);

  return {
    enqueue: (delivery) => group.add(delivery, weighDelivery(delivery)),
    check: () => withinTimeout(producer.ping(), 'the queue did not answer'),
    close: async () => {
      await group.idle();
      await producer.bullmq.close();
      await producer.disconnect();
    },
  };
}

async function withinTimeout(work: Promise<unknown>, failure: string): Promise<void> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new OutageError(`${failure} within ${ENQUEUE_TIMEOUT_MS} ms`)),
    ENQUEUE_TIMEOUT_MS,
  );
  try {
    await Promise.race([work, timeout]);
  } catch (error) {
    throw error instanceof OutageError ? error : new OutageError(failure, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
