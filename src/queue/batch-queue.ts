import { hash } from 'node:crypto';
import type { Telemetry } from 'bullmq';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { OutageError } from '../lib/errors.ts';
import { toBatch, type QueuedDelivery } from './delivery-batch.ts';
import type { ConnectedProducer, DelayedJob, QueueLocation, Engine } from './engine.ts';
import { chooseQueue, LANES, QUEUE_NAME, queueNamesOf, type Lane } from './lanes.ts';
import { logOutages } from './batch-logging.ts';
import { IN_HAND_MS } from './near-worker.ts';
import { createPostgresEngine } from './postgres-engine.ts';
import { createRedisEngine } from './redis-engine.ts';

export interface QueueMeasure {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  /** Given up by BullMQ; a worker puts them back within a minute. */
  readonly failed: number;
  /** Age of the oldest waiting job; undefined if none is waiting. */
  readonly oldestWaitingSeconds: number | undefined;
}

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

interface BatchQueueOptions {
  /** Batches go to the queues of this lane, and they alone are measured. By default, to the ordinary one of all. */
  readonly lane?: Lane;
  /** Jobs of sources with a lower rank are processed first. */
  readonly rankOf?: (source: string) => number;
  readonly telemetry?: Telemetry | undefined;
}

export type BatchQueue = ReturnType<typeof openBatchQueue>;

/**
 * Opens the producer of BullMQ queues. They connect when they are first used, and reconnect after an outage. Every call
 * throws OutageError if the queue fails or takes too long.
 */
export function openBatchQueue(
  location: QueueLocation,
  logger: Logger,
  { lane, rankOf = () => 0, telemetry }: BatchQueueOptions = {},
) {
  const names = (lane === undefined ? LANES : [lane]).flatMap((each) => queueNamesOf(each, location));
  const connections = new Map(
    names.map((name) => [name, createConnection(name, location, logger, telemetry)]),
  );
  const targets = queueNamesOf(lane ?? 'ordinary', location);
  const nameOf = (source: string): string => chooseQueue(targets, source);
  const requestAll = <T>(work: (producer: ConnectedProducer) => Promise<T>): Promise<T[]> =>
    Promise.all(
      [...connections.values()].map((connection) => connection.request(work, 'the queue did not answer')),
    );
  return {
    nameOf,
    /**
     * Resolves with the id of its job once the batch is durable in the queue of this name, by default that of the first
     * delivery's source. A batch that is already waiting in the queue is not added again. Workers get it after `delay`
     * milliseconds.
     */
    async add(deliveries: readonly QueuedDelivery[], name?: string, delay = 0): Promise<string> {
      const data = toBatch(deliveries);
      const jobId = jobIdOf(deliveries);
      const { source = '' } = deliveries[0] ?? {};
      const options = { ...JOB_OPTIONS, jobId, priority: rankOf(source), delay };
      await connections
        .get(name ?? nameOf(source))
        ?.request(({ bullmq }) => bullmq.add('batch', data, options), 'the queue did not accept a batch');
      return jobId;
    },
    async countJobs(): Promise<number> {
      const counts = await requestAll(({ bullmq }) =>
        bullmq.getJobCountByTypes('wait', 'prioritized', 'active'),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
    measure: async () => sumMeasures(await requestAll(measureJobs)),
    check: async () => void (await requestAll((producer) => producer.ping())),
    async close(): Promise<void> {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

/** A connection to one BullMQ queue, made when it is first needed. */
function createConnection(
  name: string,
  location: QueueLocation,
  logger: Logger,
  telemetry: Telemetry | undefined,
) {
  const onError = logOutages(logger, 'queue');
  let connecting: Promise<ConnectedProducer> | undefined;

  async function connect(): Promise<ConnectedProducer> {
    const options = { ...QUEUE_OPTIONS, ...(telemetry && { telemetry }) };
    const producer = engineAt(location).connectProducer(name, options, onError);
    producer.bullmq.on('error', onError);
    try {
      await withinTimeout(producer.bullmq.waitUntilReady(), "can't connect to the queue");
    } catch (error) {
      await disconnect(producer);
      throw error;
    }
    if (name === QUEUE_NAME) {
      for (const weakness of await producer.weaknesses().catch(() => [])) logger.warn(weakness);
    }
    return producer;
  }

  return {
    request<T>(work: (producer: ConnectedProducer) => Promise<T>, failure: string): Promise<T> {
      // BullMQ never recovers from a failed first connection, so each attempt makes a new one until one succeeds.
      connecting ??= connect().catch((error: unknown) => {
        connecting = undefined;
        throw error;
      });
      return withinTimeout(connecting.then(work), failure);
    },
    async close(): Promise<void> {
      const producer = await connecting?.catch(() => undefined);
      if (producer !== undefined) await disconnect(producer);
    },
  };
}

async function disconnect(producer: ConnectedProducer): Promise<void> {
  // A queue that was never ready rejects here, and there is nothing to close.
  await withinTimeout(producer.bullmq.close(), 'the queue did not close').catch(() => undefined);
  await producer.disconnect();
}

/**
 * Connects to the queues once and measures them. `weaknesses` are settings of the queue's server that may lose acknowledged
 * jobs, each as a sentence. Throws OutageError with the server's own error if that fails.
 */
export async function inspectQueue(location: QueueLocation) {
  const names = LANES.flatMap((lane) => queueNamesOf(lane, location));
  const inspected = await Promise.all(names.map((name) => inspectOne(name, location)));
  const weaknesses = new Set(inspected.flatMap((inspection) => inspection.weaknesses));
  return { ...sumMeasures(inspected), weaknesses: [...weaknesses] };
}

async function inspectOne(name: string, location: QueueLocation) {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // The client itself would wait for the server to come back.
  const producer = engineAt(location).connectProducer(name, { skipMetasUpdate: true }, reject);
  const { bullmq } = producer;
  bullmq.on('error', reject);
  try {
    await Promise.race([bullmq.waitUntilReady(), failed]);
    const [measure, weaknesses] = await Promise.all([measureJobs(producer), producer.weaknesses()]);
    const next = measure.delayed === 0 ? [] : await bullmq.getJobs(['delayed'], 0, 9, true);
    return { ...nameDelayed(measure, next), weaknesses };
  } catch (error) {
    throw new OutageError('the queue is not responding', { cause: error });
  } finally {
    await bullmq.close().catch(() => undefined);
    await producer.disconnect();
  }
}

/**
 * Delayed jobs that no worker has had, by those that are due next: in the hands of a process (near-worker.ts), and so in
 * progress, or left by one that has ended, and waiting for a worker since they were added.
 */
function nameDelayed(measure: QueueMeasure, next: readonly (DelayedJob | undefined)[]): QueueMeasure {
  const { waiting, active, delayed, oldestWaitingSeconds: oldest = 0 } = measure;
  const found = next.filter((job) => job !== undefined);
  if (found.length === 0 || found.some(({ attemptsStarted }) => attemptsStarted > 0)) return measure;
  const age = Date.now() - Math.min(...found.map(({ timestamp }) => timestamp));
  if (age <= IN_HAND_MS) return { ...measure, active: active + delayed, delayed: 0 };
  const oldestWaitingSeconds = Math.max(oldest, age / 1000);
  return { ...measure, waiting: waiting + delayed, delayed: 0, oldestWaitingSeconds };
}

/** Counts the jobs of a connected queue. Among jobs with a rank, the one whose turn is next counts as the oldest. */
async function measureJobs(producer: ConnectedProducer): Promise<QueueMeasure> {
  const counts = await producer.bullmq.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed');
  const { wait = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counts;
  const oldest =
    wait > 0
      ? await producer.findOldest('wait', wait)
      : prioritized > 0
        ? await producer.findOldest('prioritized', prioritized)
        : undefined;
  const oldestWaitingSeconds = oldest && Math.max(0, Date.now() - oldest.timestamp) / 1000;
  return { waiting: wait + prioritized, active, delayed, failed, oldestWaitingSeconds };
}

export function sumMeasures(measures: readonly QueueMeasure[]): QueueMeasure {
  const sum = (of: (measure: QueueMeasure) => number) =>
    measures.reduce((total, measure) => total + of(measure), 0);
  const ages = measures.flatMap(({ oldestWaitingSeconds }) => oldestWaitingSeconds ?? []);
  return {
    waiting: sum(({ waiting }) => waiting),
    active: sum(({ active }) => active),
    delayed: sum(({ delayed }) => delayed),
    failed: sum(({ failed }) => failed),
    oldestWaitingSeconds: ages.length === 0 ? undefined : Math.max(...ages),
  };
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

/** The engine for a location. */
export function engineAt(location: QueueLocation): Engine {
  return location.kind === 'redis' ? createRedisEngine(location) : createPostgresEngine(location);
}
