import { hash } from 'node:crypto';
import type { Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import { engineAt } from './engine.ts';
import type { ConnectedProducer, QueueLocation } from './engine.ts';
import { logOutages } from './log-outages.ts';

/** The producing end of the BullMQ queue. Every call throws OutageError when the queue does not do it in time. */
export interface BatchQueue {
  /**
   * Resolves with the id of its job once the batch is durable in the queue. A batch that still waits there is not
   * added again.
   */
  add(deliveries: readonly QueuedDelivery[]): Promise<string>;
  /** Jobs that wait for a worker or are in its hands. */
  countJobs(): Promise<number>;
  /** How many jobs there are, and how old. */
  measure(): Promise<QueueMeasure>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The jobs of a queue, by what they wait for. */
export interface QueueMeasure {
  readonly waiting: number;
  /** In the hands of a worker. */
  readonly active: number;
  /** They rest until a time, after a failure. */
  readonly delayed: number;
  /** BullMQ has given them up; a worker puts them back within a minute. */
  readonly failed: number;
  /** Since the job that has waited longest was added; undefined when none waits. */
  readonly oldestWaitingSeconds: number | undefined;
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
export function openBatchQueue(location: QueueLocation, logger: Logger, telemetry?: Telemetry): BatchQueue {
  const queueOptions = telemetry === undefined ? QUEUE_OPTIONS : { ...QUEUE_OPTIONS, telemetry };
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
    const producer = engineAt(location).connectProducer(QUEUE_NAME, queueOptions, onError);
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
      const jobId = jobIdOf(deliveries);
      const options = { ...JOB_OPTIONS, jobId };
      await ask(({ bullmq }) => bullmq.add('batch', data, options), 'the queue did not take a batch');
      return jobId;
    },
    countJobs: () =>
      ask(({ bullmq }) => bullmq.getJobCountByTypes('wait', 'active'), 'the queue did not answer'),
    measure: () => ask(measureJobs, 'the queue did not answer'),
    async check() {
      await ask((producer) => producer.ping(), 'the queue did not answer');
    },
    async close() {
      const producer = await connecting?.catch(() => undefined);
      if (producer !== undefined) await disconnect(producer);
    },
  };
}

/** Counts the jobs of a queue that is connected. */
export async function measureJobs(producer: ConnectedProducer): Promise<QueueMeasure> {
  const counts = await producer.bullmq.getJobCounts('wait', 'active', 'delayed', 'failed');
  const { wait = 0, active = 0, delayed = 0, failed = 0 } = counts;
  const oldest = wait === 0 ? undefined : await producer.findOldest(wait);
  const oldestWaitingSeconds = oldest && Math.max(0, Date.now() - oldest.timestamp) / 1000;
  return { waiting: wait, active, delayed, failed, oldestWaitingSeconds };
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
