import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../errors.ts';
import { weighDelivery } from '../queue/delivery-batch.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import { createGroupCommit } from '../queue/group-commit.ts';
import type { Db } from '../store/database.ts';
import { classifyFailure } from '../store/failure.ts';
import { deliveryToEvents } from './delivery-to-events.ts';
import type { DeliveryEvents } from './delivery-to-events.ts';
import { storeDeliveries } from './store-deliveries.ts';

/**
 * One transaction: the batches of at most so many jobs, or so many characters of records. Larger ones gain nothing
 * and hold up answers: with 20 records a delivery, 4 MiB made the slowest percent of them wait for 220 ms.
 */
const TRANSACTION_BOUNDS = { maxItems: 16, maxBytes: 1024 * 1024 };

/** Deliveries turned into rows at a stretch; then answers that wait have their turn. */
const DELIVERIES_AT_A_STRETCH = 16;

/** How long a transaction rests between attempts while the database is away. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * Stores batches, those that arrive during one transaction together in the next. An outage waits and comes back
 * as often as it takes, and throws OutageError only once `giveUp` fires; a conflict with another transaction is
 * tried again at once; a value that Postgres cannot hold is isolated.
 */
export function createBatchStore(db: Db, logger: Logger, giveUp: AbortSignal): StoreBatch {
  const transactions = createGroupCommit(async (batches: readonly (readonly QueuedDelivery[])[]) => {
    const deliveries = await toEvents(batches.flat());
    await storeThroughFailures(db, deliveries, logger, giveUp);
  }, TRANSACTION_BOUNDS);
  return ({ deliveries }) => {
    const weight = deliveries.reduce((sum, delivery) => sum + weighDelivery(delivery), 0);
    return transactions.add(deliveries, weight);
  };
}

async function toEvents(deliveries: readonly QueuedDelivery[]): Promise<DeliveryEvents[]> {
  const converted: DeliveryEvents[] = [];
  for (const delivery of deliveries) {
    converted.push(deliveryToEvents(delivery));
    if (converted.length % DELIVERIES_AT_A_STRETCH === 0) await new Promise(setImmediate);
  }
  return converted;
}

async function storeThroughFailures(
  db: Db,
  deliveries: readonly DeliveryEvents[],
  logger: Logger,
  giveUp: AbortSignal,
): Promise<void> {
  const began = performance.now();
  let isolate = false;
  for (let pause = MIN_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      const stored = await storeDeliveries(db, deliveries, isolate);
      logger.debug({ ...stored, ms: Math.round(performance.now() - began) }, 'deliveries stored');
      return;
    } catch (error) {
      switch (classifyFailure(error)) {
        case 'data':
          isolate = true;
          break;
        case 'conflict':
          break;
        case 'outage':
          logger.warn({ pause }, `deliveries wait for the database: ${describeError(error)}`);
          await pauseUnless(giveUp, pause, error);
          break;
        case 'defect':
          throw error;
      }
    }
  }
}

async function pauseUnless(giveUp: AbortSignal, ms: number, cause: unknown): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: giveUp });
  } catch {
    throw new OutageError('gave up waiting for the database', { cause });
  }
}
