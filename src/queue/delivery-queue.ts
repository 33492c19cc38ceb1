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
import { createBatchLog, type BatchLog } from './batch-logging.ts';
import { BatchQueue, type QueueMeasure } from './batch-queue.ts';
import { deliverySize, encodeBatch, GROUP_BOUNDS, type QueuedDelivery } from './delivery-batch.ts';
import { UNOBSERVED, type DeliveryObserver } from './delivery-observer.ts';
import type { QueueLocation } from './engine.ts';
import type { Lane } from './lanes.ts';
import { IN_HAND_MS, type NearWorker } from './near-worker.ts';
import { startDrain } from './spool/drain.ts';
import type { FindStored } from './spool/kept-segments.ts';
import {
  openSpool,
  type Spool,
  type SpoolFigures,
  type SpoolRoom,
  type SpoolSettings,
} from './spool/spool.ts';

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

/** A lane of the queue, with its spool: see the states at the head of this file. */
export class DeliveryQueue {
  readonly #lane: Lane;
  readonly #isStrict: boolean;
  readonly #observer: DeliveryObserver;
  readonly #logger: Logger;
  readonly #logBatch: BatchLog;
  readonly #queue: BatchQueue;
  readonly #spool: Spool;
  readonly #drain: { stop(): Promise<void> };
  readonly #groups = new Map<string, GroupCommit<QueuedDelivery, Durability>>();
  #near: NearWorker | undefined;
  #works = true;
  #hasWorked = false;
  #failure: string | undefined;

  constructor(options: DeliveryQueueOptions) {
    const { location, lane, rankOf, findStored, keepMs = 0, observer = UNOBSERVED, logger } = options;
    this.#lane = lane;
    this.#isStrict = findStored !== undefined;
    this.#observer = observer;
    this.#logger = logger;
    this.#logBatch = createBatchLog(logger);
    this.#queue = new BatchQueue(location, logger, { lane, rankOf, telemetry: observer.telemetry });
    this.#spool = openSpool(options.spool, logger);
    this.#drain = startDrain({
      spool: this.#spool,
      queue: this.#queue,
      findStored,
      keepMs,
      logger,
      onQueueState: (works, failure) => this.#noteQueue(works, failure),
    });
  }

  /**
   * Resolves once the delivery is durable, with where it is. Throws OutageError if neither queue nor spool accepts it.
   * `size` is its `deliverySize`.
   */
  enqueue(delivery: QueuedDelivery, size = deliverySize(delivery)): Promise<Durability> {
    return this.#groupOf(delivery.source).add(delivery, size);
  }

  /** From now on the worker stores what this lane has queued, as long as it is free. */
  handTo(worker: NearWorker): void {
    this.#near = worker;
  }

  /** Resolves with where deliveries currently go. Throws OutageError if neither queue nor spool would accept one. */
  async check(): Promise<Durability> {
    if (this.#works && !this.#isStrict) return 'queued';
    await this.#spool.check();
    return this.#works ? 'queued' : 'spooled';
  }

  /** What is in the hands of the worker of this process counts as active. */
  async measure(): Promise<QueueMeasure> {
    const { active, delayed, ...measure } = await this.#queue.measure();
    const inHand = Math.min(delayed, this.#near?.inHand ?? 0);
    return { ...measure, active: active + inHand, delayed: delayed - inHand };
  }

  /** The last known state of the queue, and the contents of the spool. It sends no request. */
  state(): QueueState {
    return { works: this.#works, failure: this.#failure, spool: this.#spool.figures() };
  }

  spoolRoom(): Promise<SpoolRoom> {
    return this.#spool.room();
  }

  /** Waits until all enqueued deliveries are durable, then disconnects. */
  async close(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => group.idle()));
    await this.#drain.stop();
    await this.#spool.close();
    const { bytes } = this.#spool;
    if (bytes > 0) this.#logger.info({ bytes }, 'the spool keeps its deliveries until the next start');
    await this.#queue.close();
  }

  /** A batch is for one queue. In the bulk lane it is of one source, and no source waits for the commit of another. */
  #groupOf(source: string): GroupCommit<QueuedDelivery, Durability> {
    const name = this.#queue.nameOf(source);
    const key = this.#lane === 'bulk' ? source : name;
    let group = this.#groups.get(key);
    if (group === undefined) {
      const bounds = this.#lane === 'bulk' ? BULK_BOUNDS : GROUP_BOUNDS;
      group = new GroupCommit((deliveries) => this.#makeDurable(name, deliveries), bounds);
      this.#groups.set(key, group);
    }
    return group;
  }

  async #makeDurable(name: string, deliveries: readonly QueuedDelivery[]): Promise<Durability> {
    const began = performance.now();
    const job = await this.#observer.commit(deliveries, async () => {
      const adding = this.#tryQueue(name, deliveries);
      const spooling = this.#isStrict ? this.#spoolBatch(deliveries) : undefined;
      const [added] = await Promise.all([adding, spooling]);
      if (added === undefined && spooling === undefined) await this.#spoolBatch(deliveries);
      return added;
    });
    const durability = job === undefined ? 'spooled' : 'queued';
    const ms = Math.round(performance.now() - began);
    this.#logBatch({ job, durability, ms }, deliveries, 'batch accepted');
    return durability;
  }

  /** Resolves with the id of the job; undefined if the queue does not work. After one failure it is not tried again here. */
  async #tryQueue(name: string, deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (!this.#works) return undefined;
    const near = this.#near?.isFree() === true ? this.#near : undefined;
    try {
      const job = await this.#queue.add(deliveries, name, near && IN_HAND_MS);
      near?.take(name, job, deliveries);
      return job;
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      this.#works = false;
      this.#failure = describeError(error);
      this.#logger.warn(`spooling deliveries until the queue is available again: ${this.#failure}`);
      return undefined;
    }
  }

  #spoolBatch(deliveries: readonly QueuedDelivery[]): Promise<void> {
    return this.#spool.append(encodeBatch(deliveries));
  }

  #noteQueue(works: boolean, failure: string | undefined): void {
    // It may not work yet: the first start makes its tables a moment later.
    if (works && !this.#works && this.#hasWorked) this.#logger.info('the queue accepts deliveries again');
    this.#hasWorked ||= works;
    this.#works = works;
    this.#failure = failure;
  }
}
