import { hash } from 'node:crypto';
import type { Telemetry } from 'bullmq';
import pTimeout from 'p-timeout';
import type { Logger } from 'pino';
import { OutageError } from '../errors.ts';
import { toBatch } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import { engineAt } from './engine-at.ts';
import type { ConnectedProducer, QueueLocation } from './engine.ts';
import { chooseQueue, LANES, QUEUE_NAME, queueNamesOf } from './lanes.ts';
import type { Lane } from './lanes.ts';
import { logOutages } from './log.ts';

/** The producer of BullMQ queues. Every call throws OutageError if the queue fails or takes too long. */
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

/** Opens the queues for writing. They connect now or later, and reconnect after an outage. */
export function openBatchQueue(
  location: QueueLocation,
  logger: Logger,
  { lane, rankOf = () => 0, telemetry }: BatchQueueOptions = {},
): BatchQueue {
  const names = (lane === undefined ? LANES : [lane]).flatMap((each) => queueNamesOf(each, location));
  const targets = queueNamesOf(lane ?? 'ordinary', location);
  const connections = new Map(
    names.map((name) => [name, connectWhenAsked(name, location, logger, telemetry)]),
  );
  const ask = <T>(work: (producer: ConnectedProducer) => Promise<T>, of: readonly string[] = names) =>
    Promise.all(of.map(async (name) => connections.get(name)?.request(work, 'the queue did not answer')));

  return {
    async add(deliveries) {
      const data = toBatch(deliveries);
      const jobId = jobIdOf(deliveries);
      const { source = '' } = deliveries[0] ?? {};
      const options = { ...JOB_OPTIONS, jobId, priority: rankOf(source) };
      const connection = connections.get(chooseQueue(targets, source));
      await connection?.request(
        ({ bullmq }) => bullmq.add('batch', data, options),
        'the queue did not accept a batch',
      );
      return jobId;
    },
    async countJobs() {
      const counts = await ask(({ bullmq }) => bullmq.getJobCountByTypes('wait', 'prioritized', 'active'));
      return counts.reduce<number>((sum, count = 0) => sum + count, 0);
    },
    measure: async () => sumMeasures((await ask(measureJobs)).flatMap((measure) => measure ?? [])),
    async check() {
      await ask((producer) => producer.ping());
    },
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

/** A connection to one BullMQ queue. */
interface Connection {
  request<T>(work: (producer: ConnectedProducer) => Promise<T>, failure: string): Promise<T>;
  close(): Promise<void>;
}

function connectWhenAsked(
  name: string,
  location: QueueLocation,
  logger: Logger,
  telemetry: Telemetry | undefined,
): Connection {
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
    const producer = engineAt(location).connectProducer(name, queueOptions, onError);
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

  async function disconnect(producer: ConnectedProducer): Promise<void> {
    // A queue that was never ready rejects here, and there is nothing to close.
    await withinTimeout(producer.bullmq.close(), 'the queue did not close').catch(() => undefined);
    await producer.disconnect();
  }

  return {
    request: (work, failure) => withinTimeout(connect().then(work), failure),
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

/** Connects to the queues once and measures them. Throws OutageError with the server's own error if that fails. */
export async function inspectQueue(location: QueueLocation): Promise<QueueInspection> {
  const names = LANES.flatMap((lane) => queueNamesOf(lane, location));
  const inspected = await Promise.all(names.map((name) => inspectOne(name, location)));
  const weaknesses = new Set(inspected.flatMap((inspection) => inspection.weaknesses));
  return { ...sumMeasures(inspected), weaknesses: [...weaknesses] };
}

async function inspectOne(name: string, location: QueueLocation): Promise<QueueInspection> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // The client itself would wait for the server to come back.
  const producer = engineAt(location).connectProducer(name, { skipMetasUpdate: true }, reject);
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

/** The jobs of several queues together. */
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
