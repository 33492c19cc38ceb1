import { OutageError } from '../errors.ts';
import { sumMeasures } from './batch-queue.ts';
import { openDeliveryQueue } from './delivery-queue.ts';
import type { DeliveryQueue, DeliveryQueueOptions } from './delivery-queue.ts';
import { costOf, createSourceLoads } from './source-loads.ts';

export interface FairQueueOptions extends Omit<DeliveryQueueOptions, 'lane' | 'rankOf'> {
  /** The number of sources that share this installation. */
  readonly countSources: () => number;
}

/** The bulk lane may fill this share of the spool. */
const BULK_SPOOL_SHARE = 0.5;

/**
 * Opens both lanes as one queue. A large delivery, or one of a source that sends more than its share, goes to the bulk
 * lane; there the sources take turns by what they have sent lately. All others never wait for those.
 */
export function openFairQueue({ countSources, ...options }: FairQueueOptions): DeliveryQueue {
  const { spool: settings, logger } = options;
  const loads = createSourceLoads(countSources);
  const ordinary: DeliveryQueue = openDeliveryQueue({
    ...options,
    lane: 'ordinary',
    rankOf: () => 0,
    spool: {
      ...settings,
      get maxBytes() {
        return settings.maxBytes - bulk.state().spool.bytes;
      },
    },
  });
  const bulk: DeliveryQueue = openDeliveryQueue({
    ...options,
    lane: 'bulk',
    rankOf: (source) => loads.rankOf(source),
    spool: {
      ...settings,
      owner: 'bulk-',
      get maxBytes() {
        const free = settings.maxBytes - ordinary.state().spool.bytes;
        return Math.min(settings.maxBytes * BULK_SPOOL_SHARE, free);
      },
    },
    logger: logger.child({ lane: 'bulk' }),
  });
  return {
    async enqueue(delivery) {
      const isOver = loads.add(delivery.source, costOf(delivery));
      if (!isOver && delivery.packed === undefined) return ordinary.enqueue(delivery);
      try {
        return await bulk.enqueue(delivery);
      } catch (error) {
        // Others have filled the spool of this lane.
        if (isOver || !(error instanceof OutageError)) throw error;
        return ordinary.enqueue(delivery);
      }
    },
    async check() {
      const durability = await ordinary.check();
      // What the bulk lane cannot take is refused; that says nothing about the deliveries of others.
      return durability === 'queued' ? bulk.check().catch(() => 'spooled') : durability;
    },
    measure: async () => sumMeasures(await Promise.all([ordinary.measure(), bulk.measure()])),
    state() {
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
    spoolRoom: () => ordinary.spoolRoom(),
    async close() {
      await Promise.all([ordinary.close(), bulk.close()]);
    },
  };
}
