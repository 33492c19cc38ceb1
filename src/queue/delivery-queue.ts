import type { Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import type { Durability } from '../domain.ts';
import { describeError, OutageError } from '../errors.ts';
import { openBatchQueue } from './batch-queue.ts';
import type { QueueMeasure } from './batch-queue.ts';
import { encodeBatch, GROUP_BOUNDS, weighDelivery } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import type { QueueLocation } from './engine.ts';
import { createGroupCommit } from '../group-commit.ts';
import type { GroupCommit } from '../group-commit.ts';
import { chooseQueue, queueNamesOf } from './lanes.ts';
import type { Lane } from './lanes.ts';
import { createBatchLog } from './log.ts';
import { startDrain } from './spool/drain.ts';
import type { FindStored } from './spool/kept-segments.ts';
import { openSpool } from './spool/spool.ts';
import type { SpoolFigures, SpoolRoom, SpoolSettings } from './spool/spool.ts';

/** The queue as the ingest endpoint uses it. */
export interface DeliveryQueue {
  /** Resolves once the delivery is durable, with where it is. Throws OutageError if neither queue nor spool accepts it. */
  enqueue(delivery: QueuedDelivery): Promise<Durability>;
  /** Resolves with where deliveries currently go. Throws OutageError if neither queue nor spool would accept one. */
  check(): Promise<Durability>;
  /** Measures the queue. Throws OutageError if it does not answer. */
  measure(): Promise<QueueMeasure>;
  /** The last known state of the queue, and the contents of the spool. It sends no request. */
  state(): QueueState;
  spoolRoom(): Promise<SpoolRoom>;
  /** Waits until all enqueued deliveries are durable, then disconnects. */
  close(): Promise<void>;
}

/** The state of the queue and the spool. */
interface QueueState {
  readonly works: boolean;
  /** Why the queue does not work: its last error. */
  readonly failure: string | undefined;
  readonly spool: SpoolFigures;
}

/** Called after each batch that has become durable, with its number of deliveries. */
export type OnCommitted = (deliveries: number) => void;

/** Connects enqueueing to the traces of the deliveries. */
interface QueueTracing {
  readonly telemetry: Telemetry;
  /** Runs the commit of a batch as part of the trace of its deliveries. */
  commit<T>(deliveries: readonly QueuedDelivery[], work: () => Promise<T>): Promise<T>;
}

export interface DeliveryQueueOptions {
  readonly location: QueueLocation;
  readonly lane: Lane;
  /** The rank of a source in its lane: deliveries of a lower one are stored first. */
  readonly rankOf: (source: string) => number;
  readonly spool: SpoolSettings;
  /**
   * Looks up which deliveries are in the database. With it (`DURABILITY=strict`) every delivery is in the spool before it
   * is acknowledged, and stays there until its rows are committed, even if the queue loses it.
   */
  readonly findStored: FindStored | undefined;
  /** How long the spool keeps deliveries after that, unless the commits are replicated, in ms. */
  readonly keepMs?: number | undefined;
  readonly onCommitted?: OnCommitted | undefined;
  readonly tracing?: QueueTracing | undefined;
  readonly logger: Logger;
}

/** Making a batch holds up the event loop: 7 ms for 1 MiB on Postgres. Ingest must hardly notice a flood. */
const BULK_BOUNDS = { ...GROUP_BOUNDS, maxBytes: 256 * 1024 };

/**
 * Opens a lane of the queue with its spool. Deliveries that arrive during one write share the next one. While the queue is
 * unavailable they go to the spool, which is drained into the queue when it is available again.
 */
export function openDeliveryQueue({
  location,
  lane,
  rankOf,
  spool: settings,
  findStored,
  keepMs = 0,
  onCommitted,
  tracing,
  logger,
}: DeliveryQueueOptions): DeliveryQueue {
  const queue = openBatchQueue(location, logger, { lane, rankOf, telemetry: tracing?.telemetry });
  const spool = openSpool(settings, logger);
  const logBatch = createBatchLog(logger);
  let queueWorks = true;
  let failure: string | undefined;
  const drain = startDrain({
    spool,
    queue,
    findStored,
    keepMs,
    logger,
    onQueueState(works, reason) {
      if (works && !queueWorks) logger.info('the queue accepts deliveries again');
      queueWorks = works;
      failure = reason;
    },
  });

  /** After one failure the queue is not used until the drain has found it working, so no sender waits for it. */
  async function tryQueue(deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (!queueWorks) return undefined;
    try {
      return await queue.add(deliveries);
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      queueWorks = false;
      failure = describeError(error);
      logger.warn(`spooling deliveries until the queue is available again: ${failure}`);
      return undefined;
    }
  }

  const spoolBatch = (deliveries: readonly QueuedDelivery[]) => spool.append(encodeBatch(deliveries));

  /** Makes a batch durable. Resolves with the id of its job; undefined if only the spool contains it. */
  async function keep(deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (findStored !== undefined) {
      const [job] = await Promise.all([tryQueue(deliveries), spoolBatch(deliveries)]);
      return job;
    }
    const job = await tryQueue(deliveries);
    if (job === undefined) await spoolBatch(deliveries);
    return job;
  }

  async function commit(deliveries: readonly QueuedDelivery[]): Promise<Durability> {
    const began = performance.now();
    const job = await (tracing === undefined
      ? keep(deliveries)
      : tracing.commit(deliveries, () => keep(deliveries)));
    const durability = job === undefined ? 'spooled' : 'queued';
    onCommitted?.(deliveries.length);
    logBatch({ job, durability, ms: Math.round(performance.now() - began) }, deliveries, 'batch accepted');
    return durability;
  }

  const names = queueNamesOf(lane, location);
  const groups = new Map<string, GroupCommit<QueuedDelivery, Durability>>();
  /** A batch is for one queue. In the bulk lane it is of one source, and no source waits for the commit of another. */
  function groupOf(source: string): GroupCommit<QueuedDelivery, Durability> {
    const key = lane === 'bulk' ? source : chooseQueue(names, source);
    const bounds = lane === 'bulk' ? BULK_BOUNDS : GROUP_BOUNDS;
    const group = groups.get(key) ?? createGroupCommit(commit, bounds);
    groups.set(key, group);
    return group;
  }

  return {
    enqueue: (delivery) => groupOf(delivery.source).add(delivery, weighDelivery(delivery)),
    async check() {
      if (queueWorks && findStored === undefined) return 'queued';
      await spool.check();
      return queueWorks ? 'queued' : 'spooled';
    },
    measure: () => queue.measure(),
    state: () => ({ works: queueWorks, failure, spool: spool.figures() }),
    spoolRoom: () => spool.room(),
    async close() {
      await Promise.all([...groups.values()].map((group) => group.idle()));
      await drain.stop();
      await spool.close();
      if (spool.bytes > 0) {
        logger.info({ bytes: spool.bytes }, 'the spool keeps its deliveries until the next start');
      }
      await queue.close();
    },
  };
}
