import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import { engineAt } from './engine.ts';
import type { ConnectedProducer, QueueLocation } from './engine.ts';
import { logOutages } from './log-outages.ts';

/** The producing end of the BullMQ queue. Every call throws OutageError when the queue does not do it in time. */
export interface BatchQueue {
  /** Resolves once the batch is durable in the queue. A batch that still waits there is not added again. */
  add(deliveries: readonly QueuedDelivery[]): Promise<void>;
  /** Jobs that no worker has taken yet. */
  countWaiting(): Promise<number>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The BullMQ queue that deliveries go through. */
export const QUEUE_NAME = 'deliveries';

/** BullMQ writes two events a job to a stream that nothing here reads. */
const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } }, skipMetasUpdate: true };

/** How long a sender waits for the queue before its delivery goes to the spool. */
const TIMEOUT_MS = 2_000;

const JOB_OPTIONS = {
  removeOnComplete: true,
  removeOnFail: false,
  // An error that no rule of the worker foresees must not end a job: it comes back until somebody mends it.
  attempts: 2 ** 31 - 1,
  backoff: { type: 'fixed', delay: 5_000 },
  stackTraceLimit: 1,
};

/** Opens the queue for writing. It connects now or later: a queue that is away comes back by itself. */
export function openBatchQueue(location: QueueLocation, logger: Logger): BatchQueue {
  const onError = logOutages(logger, 'queue');
  let connecting: Promise<ConnectedProducer> | undefined;

  /** BullMQ remembers for ever that a first connection failed, so each attempt is one of its own until one succeeds. */
  function connect(): Promise<ConnectedProducer> {
    connecting ??= connectAnew().catch((error: unknown) => {
      connecting = undefined;
      throw error;
    });
    return connecting;
  }

  async function connectAnew(): Promise<ConnectedProducer> {
    const producer = engineAt(location).connectProducer(QUEUE_NAME, QUEUE_OPTIONS, onError);
    producer.bullmq.on('error', onError);
    try {
      await withinTimeout(producer.bullmq.waitUntilReady(), 'the queue could not be connected');
    } catch (error) {
      await disconnect(producer);
      throw error;
    }
    for (const weakness of await producer.weaknesses().catch(() => [])) logger.warn(weakness);
    return producer;
  }

  async function disconnect(producer: ConnectedProducer): Promise<void> {
    // A queue that never became ready reports so when it closes, and there is nothing to close.
    await withinTimeout(producer.bullmq.close(), 'the queue did not close').catch(() => undefined);
    await producer.disconnect();
  }

  const ask = <T>(work: (producer: ConnectedProducer) => Promise<T>, failure: string) =>
    withinTimeout(connect().then(work), failure);

  return {
    async add(deliveries) {
      const data = { version: 1 as const, deliveries: [...deliveries] };
      const options = { ...JOB_OPTIONS, jobId: jobIdOf(deliveries) };
      await ask(({ bullmq }) => bullmq.add('batch', data, options), 'the queue did not take a batch');
    },
    countWaiting: () => ask(({ bullmq }) => bullmq.getWaitingCount(), 'the queue did not answer'),
    async check() {
      await ask((producer) => producer.ping(), 'the queue did not answer');
    },
    async close() {
      const producer = await connecting?.catch(() => undefined);
      if (producer !== undefined) await disconnect(producer);
    },
  };
}

/** The same deliveries make the same job, so that a batch of which nobody knows whether it arrived can be sent again. */
function jobIdOf(deliveries: readonly QueuedDelivery[]): string {
  return hash('sha256', deliveries.map(({ deliveryId }) => deliveryId).join());
}

async function withinTimeout<T>(work: Promise<T>, failure: string): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new OutageError(`${failure} within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  try {
    return await Promise.race([work, timeout]);
  } catch (error) {
    throw error instanceof OutageError ? error : new OutageError(failure, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
