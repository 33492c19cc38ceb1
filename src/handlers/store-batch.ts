import type { Logger } from 'pino';
import { weighDelivery } from '../queue/delivery-batch.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import { createGroupCommit } from '../queue/group-commit.ts';
import type { Db } from '../store/database.ts';
import { summarize } from './account.ts';
import { storeGroup } from './store-group.ts';
import type { OnStored } from './store-group.ts';

/**
 * One transaction: the batches of at most so many jobs, or so many characters of records. Larger ones gain nothing
 * and hold up answers: with 20 records a delivery, 4 MiB made the slowest percent of them wait for 220 ms.
 */
const TRANSACTION_BOUNDS = { maxItems: 16, maxBytes: 1024 * 1024 };

/** Stores batches, those that arrive during one transaction together in the next. Failures go by the failure rules. */
export function createBatchStore(
  db: Db,
  logger: Logger,
  giveUp: AbortSignal,
  onStored?: OnStored,
): StoreBatch {
  const storeBatches = async (batches: readonly (readonly ReadDelivery[])[]) => {
    const rows = await storeGroup({ db, logger, giveUp, onStored }, batches.flat());
    return new Map(rows.map((row) => [row.deliveryId, row]));
  };
  const transactions = createGroupCommit(storeBatches, TRANSACTION_BOUNDS);
  return async ({ deliveries }) => {
    const weight = deliveries.reduce((sum, delivery) => sum + weighDelivery(delivery), 0);
    const rows = await transactions.add(deliveries, weight);
    return summarize(deliveries.flatMap(({ deliveryId }) => rows.get(deliveryId) ?? []));
  };
}
