import type { Durability } from '../events/domain.ts';
import { OutageError } from '../lib/errors.ts';
import { sumMeasures } from './batch-queue.ts';
import { deliverySize, type QueuedDelivery } from './delivery-batch.ts';
import { openDeliveryQueue, type DeliveryQueueOptions, type QueueState } from './delivery-queue.ts';
import type { NearWorker } from './near-worker.ts';
import { createSpoolBudget } from './spool/ownership.ts';

export interface FairQueueOptions extends Omit<DeliveryQueueOptions, 'lane' | 'rankOf'> {
  /** The number of sources that share this installation. */
  readonly countSources: () => number;
}

/** The bulk lane may fill this share of the spool. */
const BULK_SPOOL_SHARE = 0.5;

export type FairQueue = ReturnType<typeof openFairQueue>;

/**
 * Opens both lanes as one queue. A large delivery, or one of a source that sends more than its share, goes to the bulk lane;
 * there the sources take turns by what they have sent lately. All others never wait for those.
 */
export function openFairQueue({ countSources, ...options }: FairQueueOptions) {
  const { spool, logger } = options;
  const { maxBytes } = spool;
  const budget = createSpoolBudget(maxBytes);
  const loads = createSourceLoads(countSources);
  const ordinary = openDeliveryQueue({
    ...options,
    lane: 'ordinary',
    rankOf: () => 0,
    spool: { ...spool, budget },
  });
  const bulk = openDeliveryQueue({
    ...options,
    lane: 'bulk',
    rankOf: (source) => loads.rankOf(source),
    spool: { ...spool, budget, owner: 'bulk-', maxBytes: maxBytes * BULK_SPOOL_SHARE },
    logger: logger.child({ lane: 'bulk' }),
  });
  return {
    /**
     * Resolves once the delivery is durable, with where it is. Throws OutageError if neither queue nor spool accepts it.
     * `rows` is the number of events that it may become.
     */
    async enqueue(delivery: QueuedDelivery, rows = delivery.recordCount): Promise<Durability> {
      const size = deliverySize(delivery);
      const isOver = loads.add(delivery.source, costOf(size, rows));
      if (!isOver && delivery.packed === undefined) return ordinary.enqueue(delivery, size);
      try {
        return await bulk.enqueue(delivery, size);
      } catch (error) {
        // Others have filled the spool of this lane.
        if (isOver || !(error instanceof OutageError)) throw error;
        return ordinary.enqueue(delivery, size);
      }
    },
    /**
     * From now on the worker stores what the ordinary lane has queued, as long as it is free. In the bulk lane the sources
     * take turns, which only the queue can see to.
     */
    handTo: (worker: NearWorker): void => ordinary.handTo(worker),
    /** Resolves with where deliveries currently go. Throws OutageError if neither queue nor spool would accept one. */
    async check(): Promise<Durability> {
      const durability = await ordinary.check();
      // What the bulk lane cannot take is refused; that says nothing about the deliveries of others.
      return durability === 'queued' ? bulk.check().catch(() => 'spooled') : durability;
    },
    measure: async () => sumMeasures(await Promise.all([ordinary.measure(), bulk.measure()])),
    /** The last known state of the queue, and the contents of the spool. It sends no request. */
    state(): QueueState {
      const [first, second] = [ordinary.state(), bulk.state()];
      const made = [first, second].flatMap(({ spool }) => spool.oldestAt ?? []);
      return {
        works: first.works && second.works,
        failure: first.failure ?? second.failure,
        spool: {
          bytes: first.spool.bytes + second.spool.bytes,
          segments: first.spool.segments + second.spool.segments,
          oldestAt: made.length === 0 ? undefined : Math.min(...made),
        },
      };
    },
    spoolRoom: ordinary.spoolRoom,
    /** Waits until all enqueued deliveries are durable, then disconnects. */
    close: async () => void (await Promise.all([ordinary.close(), bulk.close()])),
  };
}

/** What is older counts less: a load of so long ago counts a third. */
const MEMORY_MS = 10_000;

/**
 * No source is over its share with less: 200 deliveries of one record a second, or 2,000 at once, which workers store in
 * less than a quarter of a second.
 */
export const FLOOR = 2 * 1024 * 1024;

/** BullMQ allows more. */
const MAX_RANK = 30;

/** What a row costs beside its content, in characters. */
const ROW_COST = 512;

/** The cost of storing a delivery of this `deliverySize`, in characters: its content and the rows that it may become. */
export const costOf = (size: number, rows: number): number => size + ROW_COST * (1 + rows);

interface Load {
  cost: number;
  at: number;
}

/**
 * Counts how much each source has sent to this process lately, compared with the others. `countSources` is the number of
 * sources that share this installation: a single one has no share to exceed. `now` is a clock in milliseconds.
 */
export function createSourceLoads(countSources: () => number, now: () => number = () => performance.now()) {
  const loads = new Map<string, Load>();
  const total: Load = { cost: 0, at: now() };
  return {
    /** Counts a delivery of this cost. Returns whether its source has sent more than its share, this one included. */
    add(source: string, cost: number): boolean {
      const at = now();
      const load = loads.get(source) ?? { cost: 0, at };
      loads.set(source, load);
      const own = addTo(load, cost, at);
      const all = addTo(total, cost, at);
      const sources = Math.max(loads.size, countSources());
      return sources > 1 && own > FLOOR && own > all / sources;
    },
    /** 0 while the source has sent what every source may, then 1 more each time that this has doubled. */
    rankOf(source: string): number {
      const load = loads.get(source);
      const cost = load === undefined ? 0 : costNow(load, now());
      return cost <= FLOOR ? 0 : Math.min(MAX_RANK, 1 + Math.floor(Math.log2(cost / FLOOR)));
    },
  };
}

const costNow = (load: Load, at: number) => load.cost * Math.exp((load.at - at) / MEMORY_MS);

function addTo(load: Load, cost: number, at: number): number {
  load.cost = costNow(load, at) + cost;
  load.at = at;
  return load.cost;
}
