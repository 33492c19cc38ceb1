import { hash } from 'node:crypto';
import type { Telemetry } from 'bullmq';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import { toBatch } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import { engineAt } from './engine-at.ts';
import type { ConnectedProducer, QueueLocation } from './engine.ts';
import { logOutages } from './log.ts';

/** The producer of the BullMQ queue. Every call throws OutageError if the queue fails or takes too long. */
export interface BatchQueue {
  /**
   * Resolves with the id of its job once the batch is durable in the queue. A batch that is already waiting in the queue
   * is not added again.
   */
  add(deliveries: readonly QueuedDelivery[]): Promise<string>;
  /** Jobs that are waiting for a worker or being processed. */
  countJobs(): Promise<number>;
  /** The number of jobs by state, and the age of the oldest. */
  measure(): Promise<QueueMeasure>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The jobs of a queue by state. */
export interface QueueMeasure {
  readonly waiting: number;
  /** Being processed by a worker. */
  readonly active: number;
  /** Waiting to be retried after a failure. */
  readonly delayed: number;
  /** Given up by BullMQ; a worker puts them back within a minute. */
  readonly failed: number;
  /** Age of the oldest waiting job; undefined if none is waiting. */
  readonly oldestWaitingSeconds: number | undefined;
}

/** The name of the BullMQ queue of deliveries. */
export const QUEUE_NAME = 'deliveries';

/** BullMQ writes two events per job to a stream that nothing here reads. */
const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } }, skipMetasUpdate: true };

/** A sender waits this long for the queue before its delivery goes to the spool. */
const TIMEOUT_MS = 2_000;

const JOB_OPTIONS = {
  removeOnComplete: true,
  removeOnFail: false,
  // An error that the worker has no rule for must not end a job: it is retried until an operator fixes the cause.
  attempts: 2 ** 31 - 1,
  backoff: { type: 'fixed', delay: 5_000 },
  stackTraceLimit: 1,
};

/** Opens the queue for writing. It connects now or later, and reconnects after an outage. */
export function openBatchQueue(location: QueueLocation, logger: Logger, telemetry?: Telemetry): BatchQueue {
  const queueOptions = telemetry === undefined ? QUEUE_OPTIONS : { ...QUEUE_OPTIONS, telemetry };
  const onError = logOutages(logger, 'queue');
  let connecting: Promise<ConnectedProducer> | undefined;

  /** BullMQ never recovers from a failed first connection, so each attempt makes a new one until one succeeds. */
  function connect(): Promise<ConnectedProducer> {
    connecting ??= connectAnew().catch((error: unknown) => {
      connecting = undefined;
      throw error;
    });
    return connecting;
  }

  async function connectAnew(): Promise<ConnectedProducer> {
    const producer = engineAt(location).connectProducer(QUEUE_NAME, queueOptions, onError);
    producer.bullmq.on('error', onError);
    try {
      await withinTimeout(producer.bullmq.waitUntilReady(), "can't connect to the queue");
    } catch (error) {
      await disconnect(producer);
      throw error;
    }
    for (const weakness of await producer.weaknesses().catch(() => [])) logger.warn(weakness);
    return producer;
  }

  async function disconnect(producer: ConnectedProducer): Promise<void> {
    // A queue that was never ready rejects here, and there is nothing to close.
    await withinTimeout(producer.bullmq.close(), 'the queue did not close').catch(() => undefined);
    await producer.disconnect();
  }

  const request = <T>(work: (producer: ConnectedProducer) => Promise<T>, failure: string) =>
    withinTimeout(connect().then(work), failure);

  return {
    async add(deliveries) {
      const data = toBatch(deliveries);
      const jobId = jobIdOf(deliveries);
      const options = { ...JOB_OPTIONS, jobId };
      await request(({ bullmq }) => bullmq.add('batch', data, options), 'the queue did not accept a batch');
      return jobId;
    },
    countJobs: () =>
      request(({ bullmq }) => bullmq.getJobCountByTypes('wait', 'active'), 'the queue did not answer'),
    measure: () => request(measureJobs, 'the queue did not answer'),
    async check() {
      await request((producer) => producer.ping(), 'the queue did not answer');
    },
    async close() {
      const producer = await connecting?.catch(() => undefined);
      if (producer !== undefined) await disconnect(producer);
    },
  };
}

/** The state of a queue, and how safe its jobs are. */
export interface QueueInspection extends QueueMeasure {
  /** Settings of the queue's server that may lose acknowledged jobs, each as a sentence. */
  readonly weaknesses: readonly string[];
}

/** Connects to the queue once and measures it. Throws OutageError with the server's own error if that fails. */
export async function inspectQueue(location: QueueLocation): Promise<QueueInspection> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // The client itself would wait for the server to come back.
  const producer = engineAt(location).connectProducer(QUEUE_NAME, { skipMetasUpdate: true }, reject);
  const { bullmq } = producer;
  bullmq.on('error', reject);
  try {
    await Promise.race([bullmq.waitUntilReady(), failed]);
    const [measure, weaknesses] = await Promise.all([measureJobs(producer), producer.weaknesses()]);
    return { ...measure, weaknesses };
  } catch (error) {
    throw new OutageError('the queue does not answer', { cause: error });
  } finally {
    await bullmq.close().catch(() => undefined);
    await producer.disconnect();
  }
}

/** Counts the jobs of a connected queue. */
async function measureJobs(producer: ConnectedProducer): Promise<QueueMeasure> {
  const counts = await producer.bullmq.getJobCounts('wait', 'active', 'delayed', 'failed');
  const { wait = 0, active = 0, delayed = 0, failed = 0 } = counts;
  const oldest = wait === 0 ? undefined : await producer.findOldest(wait);
  const oldestWaitingSeconds = oldest && Math.max(0, Date.now() - oldest.timestamp) / 1000;
  return { waiting: wait, active, delayed, failed, oldestWaitingSeconds };
}

/** The same deliveries always have the same job id, so a batch can be sent again if it is unknown whether it arrived. */
function jobIdOf(deliveries: readonly QueuedDelivery[]): string {
  return hash('sha256', deliveries.map(({ deliveryId }) => deliveryId).join());
}

async function withinTimeout<T>(work: Promise<T>, failure: string): Promise<T> {
  try {
    return await pTimeout(work, {
      milliseconds: TIMEOUT_MS,
      fallback: () => {
        throw new OutageError(`${failure} within ${TIMEOUT_MS} ms`);
      },
    });
  } catch (error) {
    throw error instanceof OutageError ? error : new OutageError(failure, { cause: error });
  }
}
