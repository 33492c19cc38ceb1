/**
 * One lane of the queue, with its spool.
 *
 * A delivery passes through these states:
 *
 * - Waiting: it is in memory, in the group of its queue. Its sender has no answer yet. Nothing is durable: if the process
 *   ends, the sender has to send it again.
 *   - When the write before it has ended, all that wait in the group (up to its bounds) become one batch: in commit.
 * - In commit: the batch is being written to the queue, to the spool, or (`DURABILITY=strict`) to both.
 *   - The queue has accepted it: queued. In strict mode the spool must have it, too.
 *   - The queue does not work, but the spool has accepted it: spooled.
 *   - Neither has accepted it: refused. The sender has to send it again. It may be stored all the same, when the
 *     queue did accept it but did not answer in time; then the repeated delivery is recognized.
 * - Spooled: durable in a file of this process on the disk (`spool/spool.ts`). If the process ends, the next one takes the
 *   file over.
 *   - The drain (`spool/drain.ts`) adds it to the queue when that works: queued.
 * - Queued: durable in Redis or Postgres, as far as the server's settings promise. A worker stores it: that of this process
 *   from memory, if there is one and it is free (`near-worker.ts`), else any that fetches the job.
 *   - In strict mode its file stays until its rows are committed, and on a replica. If there are no rows after a while, the
 *     drain queues it again.
 *
 * The lane itself is in one of two states:
 *
 * - Queueing (the first one): batches go to the queue.
 *   - A write fails, or takes too long: spooling.
 * - Spooling: batches go to the spool alone, so that no sender waits for the queue.
 *   - The drain finds that the queue answers while nothing is spooled, or adds a spooled batch: queueing.
 *
 * Closing waits until nothing is waiting or in commit, and leaves on the disk what is spooled.
 */
import type { Logger } from 'pino';
import type { Durability } from '../events/domain.ts';
import { describeError, OutageError } from '../lib/errors.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import { createBatchLog } from './batch-logging.ts';
import { openBatchQueue, type QueueMeasure } from './batch-queue.ts';
import { deliverySize, encodeBatch, GROUP_BOUNDS, type QueuedDelivery } from './delivery-batch.ts';
import { UNOBSERVED, type DeliveryObserver } from './delivery-observer.ts';
import type { QueueLocation } from './engine.ts';
import type { Lane } from './lanes.ts';
import { IN_HAND_MS, type NearWorker } from './near-worker.ts';
import { startDrain } from './spool/drain.ts';
import type { FindStored } from './spool/kept-segments.ts';
import { openSpool, type SpoolFigures, type SpoolSettings } from './spool/spool.ts';

export interface QueueState {
  readonly works: boolean;
  /** Why the queue does not work: its last error. */
  readonly failure: string | undefined;
  readonly spool: SpoolFigures;
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
  readonly observer?: DeliveryObserver;
  readonly logger: Logger;
}

/** Making a batch holds up the event loop: 7 ms for 1 MiB on Postgres. Ingest must hardly notice a flood. */
const BULK_BOUNDS = { ...GROUP_BOUNDS, maxBytes: 256 * 1024 };

export type DeliveryQueue = ReturnType<typeof openDeliveryQueue>;

/** Opens a lane of the queue, with its spool: see the states at the head of this file. */
export function openDeliveryQueue(options: DeliveryQueueOptions) {
  const { location, lane, rankOf, findStored, keepMs = 0, observer = UNOBSERVED, logger } = options;
  const isStrict = findStored !== undefined;
  const logBatch = createBatchLog(logger);
  const queue = openBatchQueue(location, logger, { lane, rankOf, telemetry: observer.telemetry });
  const spool = openSpool(options.spool, logger);
  const groups = new Map<string, GroupCommit<QueuedDelivery, Durability>>();
  let near: NearWorker | undefined;
  let works = true;
  let hasWorked = false;
  let failure: string | undefined;

  function onQueueState(isWorking: boolean, reason?: string): void {
    // It may not work yet: the first start makes its tables a moment later.
    if (isWorking && !works && hasWorked) logger.info('the queue accepts deliveries again');
    hasWorked ||= isWorking;
    works = isWorking;
    failure = reason;
  }
  const drain = startDrain({ spool, queue, findStored, keepMs, logger, onQueueState });

  /** A batch is for one queue. In the bulk lane it is of one source, and no source waits for the commit of another. */
  function groupOf(source: string): GroupCommit<QueuedDelivery, Durability> {
    const name = queue.nameOf(source);
    const key = lane === 'bulk' ? source : name;
    let group = groups.get(key);
    if (group === undefined) {
      const bounds = lane === 'bulk' ? BULK_BOUNDS : GROUP_BOUNDS;
      group = new GroupCommit((deliveries) => makeDurable(name, deliveries), bounds);
      groups.set(key, group);
    }
    return group;
  }

  async function makeDurable(name: string, deliveries: readonly QueuedDelivery[]): Promise<Durability> {
    const began = performance.now();
    const job = await observer.commit(deliveries, async () => {
      const adding = tryQueue(name, deliveries);
      const spooling = isStrict ? spoolBatch(deliveries) : undefined;
      const [added] = await Promise.all([adding, spooling]);
      if (added === undefined && spooling === undefined) await spoolBatch(deliveries);
      return added;
    });
    const durability = job === undefined ? 'spooled' : 'queued';
    const ms = Math.round(performance.now() - began);
    logBatch({ job, durability, ms }, deliveries, 'batch accepted');
    return durability;
  }

  /** Resolves with the id of the job; undefined if the queue does not work. After one failure it is not tried again here. */
  async function tryQueue(name: string, deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (!works) return undefined;
    const free = near?.isFree() === true ? near : undefined;
    try {
      const job = await queue.add(deliveries, name, free && IN_HAND_MS);
      free?.take(name, job, deliveries);
      return job;
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      works = false;
      failure = describeError(error);
      logger.warn(`spooling deliveries until the queue is available again: ${failure}`);
      return undefined;
    }
  }

  const spoolBatch = (deliveries: readonly QueuedDelivery[]) => spool.append(encodeBatch(deliveries));

  return {
    /**
     * Resolves once the delivery is durable, with where it is. Throws OutageError if neither queue nor spool accepts it.
     * `size` is its `deliverySize`.
     */
    enqueue: (delivery: QueuedDelivery, size = deliverySize(delivery)): Promise<Durability> =>
      groupOf(delivery.source).add(delivery, size),
    /** From now on the worker stores what this lane has queued, as long as it is free. */
    handTo(worker: NearWorker): void {
      near = worker;
    },
    /** Resolves with where deliveries currently go. Throws OutageError if neither queue nor spool would accept one. */
    async check(): Promise<Durability> {
      if (!works || isStrict) await spool.check();
      return works ? 'queued' : 'spooled';
    },
    /** What is in the hands of the worker of this process counts as active. */
    async measure(): Promise<QueueMeasure> {
      const { active, delayed, ...measure } = await queue.measure();
      const inHand = Math.min(delayed, near?.inHand ?? 0);
      return { ...measure, active: active + inHand, delayed: delayed - inHand };
    },
    /** The last known state of the queue, and the contents of the spool. It sends no request. */
    state: (): QueueState => ({ works, failure, spool: spool.figures() }),
    spoolRoom: () => spool.room(),
    /** Waits until all enqueued deliveries are durable, then disconnects. */
    async close(): Promise<void> {
      await Promise.all([...groups.values()].map((group) => group.idle()));
      await drain.stop();
      await spool.close();
      const { bytes } = spool;
      if (bytes > 0) logger.info({ bytes }, 'the spool keeps its deliveries until the next start');
      await queue.close();
    },
  };
}
