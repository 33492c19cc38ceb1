import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openBatchQueue, type QueueMeasure } from '../queue/batch-queue.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { openFairQueue } from '../queue/fair-queue.ts';
import type { Db } from '../store/database.ts';
import { locateDeliveries } from '../store/wal-position.ts';
import { closing } from './closing.ts';
import type { Observation } from './observation.ts';

interface QueueNeeds {
  readonly config: Config;
  readonly location: QueueLocation;
  readonly db: Db | undefined;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Opens the queue of a process that accepts deliveries, with its spool. */
export function openQueue(
  { config, location, db, observation, logger }: QueueNeeds,
  opened: AsyncDisposableStack,
): DeliveryQueue {
  const { dataDir, databaseUrl, durability, spool, strict } = config;
  const findStored =
    durability === 'strict' && db !== undefined
      ? (ids: readonly string[]) => locateDeliveries(db, ids, strict.replicas)
      : undefined;
  const directory = path.join(dataDir, 'spool');
  const queue = openFairQueue({
    location,
    countSources: () => config.sources.length,
    spool: { directory, ...spool },
    findStored,
    // No other server takes over from the embedded one.
    keepMs: databaseUrl === undefined ? 0 : strict.keepMs,
    onCommitted: observation.onCommitted,
    tracing: observation.traces,
    logger,
  });
  opened.defer(closing(logger, 'queue', () => queue.close()));
  observation.followQueue(queue);
  return queue;
}

/** Measures the queue: over the connection of this process, or over one for this purpose alone. */
export function measureOf(
  queue: DeliveryQueue | undefined,
  location: QueueLocation,
  logger: Logger,
  opened: AsyncDisposableStack,
): () => Promise<QueueMeasure> {
  if (queue !== undefined) return () => queue.measure();
  const own = openBatchQueue(location, logger);
  opened.defer(closing(logger, 'connection that measures the queue', () => own.close()));
  return () => own.measure();
}
