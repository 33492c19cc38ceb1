import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { weighDelivery } from '../queue/delivery-batch.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import { createGroupCommit } from '../group-commit.ts';
import type { Db } from '../store/database.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import { setAsideWhole } from './delivery-to-events.ts';
import { summarize } from './delivery-tally.ts';
import { FAILURE_RULES } from './failure-rules.ts';
import { GaveUpError, kindOf, MIN_PAUSE_MS, pause, runTransaction } from './run-transaction.ts';
import type { TransactionContext } from './run-transaction.ts';
import { createRefusalReader, type RefusalReader } from '../erasure/refusals.ts';
import { copyBatch, storeDeliveries } from './store-deliveries.ts';

/** Called after every transaction with the rows of the deliveries that it stored, and its duration. */
export type OnStored = (rows: readonly NewDelivery[], seconds: number) => void;

/** Where deliveries are stored, when to stop waiting for it, and who is informed. */
export interface StoringContext extends TransactionContext {
  /** Without it, COPY is not tried. */
  readonly copying?: CopyPace;
  readonly onStored?: OnStored | undefined;
  /** Whose records are not stored. */
  readonly refusals?: RefusalReader;
}

/** The options of storing batches. */
export interface BatchStoreOptions extends Pick<StoringContext, 'onStored' | 'onWaiting'> {
  /** The file of the key that tells erased persons. Without it, nothing is stored once somebody was erased. */
  readonly erasureKeyFile?: string | undefined;
  /** Transactions in progress at a time; 1 by default. */
  readonly atOnce?: number;
}

/**
 * One transaction: the batches of at most so many jobs, or so many characters of records. Larger transactions gain
 * nothing and delay answers: with 20 records per delivery, at 4 MiB the slowest percent waited for 220 ms.
 */
const TRANSACTION_BOUNDS = { maxItems: 16, maxBytes: 512 * 1024 };

/**
 * The senders have their answers, and the log waits 80 ms for events that were received earlier. With 25 ms from one
 * transaction to the next, a delivery of one record takes a tenth less of the program's and the servers' processor time.
 */
const SPACING_MS = 25;

/** A delivery is tried alone so often before it is quarantined as the one that cannot be stored. */
const ATTEMPTS_ALONE = 3;

/**
 * Creates the function that stores batches: those that arrive while transactions are in progress share the next one.
 * Failures are handled by the failure rules.
 */
export function createBatchStore(
  db: Db,
  logger: Logger,
  giveUp: AbortSignal,
  { onStored, onWaiting, erasureKeyFile, atOnce = 1 }: BatchStoreOptions = {},
): StoreBatch {
  const copying = createCopyPace();
  const refusals = createRefusalReader(erasureKeyFile);
  const storeBatches = async (batches: readonly (readonly ReadDelivery[])[]) => {
    const rows = await storeGroup(
      { db, logger, giveUp, onStored, onWaiting, copying, refusals },
      batches.flat(),
    );
    return new Map(rows.map((row) => [row.deliveryId, row]));
  };
  const transactions = createGroupCommit(storeBatches, TRANSACTION_BOUNDS, {
    atOnce,
    spacingMs: SPACING_MS,
  });
  return async ({ deliveries }) => {
    const weight = deliveries.reduce((sum, delivery) => sum + weighDelivery(delivery), 0);
    const rows = await transactions.add(deliveries, weight);
    return summarize(deliveries.flatMap(({ deliveryId }) => rows.get(deliveryId) ?? []));
  };
}

/**
 * Stores deliveries in one transaction. If a defect prevents that, each delivery gets its own transaction, and one
 * that fails even alone is quarantined whole. Resolves once all are stored, with the rows of those that were not
 * stored before. Throws OutageError when `giveUp` fires during an outage, and an AggregateError when deliveries cannot
 * even be quarantined.
 */
export async function storeGroup(
  context: StoringContext,
  deliveries: readonly ReadDelivery[],
): Promise<readonly NewDelivery[]> {
  try {
    return await storeTogether(context, deliveries);
  } catch (error) {
    if (error instanceof GaveUpError) throw error;
    context.logger.error(
      { err: error, deliveries: deliveries.length },
      'deliveries could not be stored together; storing them one by one',
    );
  }
  const failures: unknown[] = [];
  const rows: NewDelivery[] = [];
  for (const delivery of deliveries) {
    try {
      rows.push(...(await storeAlone(context, delivery)));
    } catch (error) {
      if (error instanceof GaveUpError) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(
      failures,
      `deliveries that could neither be stored nor quarantined: ${failures.length}`,
    );
  }
  return rows;
}

async function storeAlone(context: StoringContext, delivery: ReadDelivery): Promise<readonly NewDelivery[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await storeTogether(context, [delivery]);
    } catch (error) {
      if (error instanceof GaveUpError) throw error;
      const isFinal = FAILURE_RULES[kindOf(error)].remedy === 'quarantine';
      if (isFinal || attempt === ATTEMPTS_ALONE) {
        const { deliveryId, source, messageType } = delivery;
        context.logger.error(
          { err: error, deliveryId, source, messageType },
          'a delivery could not be stored and is quarantined whole',
        );
        return await storeTogether(context, [setAsideWhole(delivery, describeError(error))]);
      }
      await pause(context, MIN_PAUSE_MS, error);
    }
  }
}

async function storeTogether(
  context: StoringContext,
  deliveries: readonly ReadDelivery[],
): Promise<readonly NewDelivery[]> {
  const began = performance.now();
  const rows = await runTransaction(
    context,
    async (trx, isolate) => storeDeliveries(trx, deliveries, isolate, await context.refusals?.read(trx)),
    () => tryCopying(context, deliveries),
  );
  const ms = performance.now() - began;
  context.onStored?.(rows, ms / 1000);
  const refused = rows.reduce((sum, { refusedCount }) => sum + refusedCount, 0);
  if (refused > 0) context.logger.info({ refused }, 'records of erased persons were not stored again');
  context.logger.debug({ ...summarize(rows), ms: Math.round(ms) }, 'transaction committed');
  return rows;
}

/** When to try COPY. */
interface CopyPace {
  /** Whether to try it for the next transaction. */
  isDue(): boolean;
  ended(isStored: boolean): void;
}

/** The largest number of transactions between two attempts. */
const MAX_WITHOUT_COPY = 63;

/**
 * Tries COPY always while it works. While senders repeat deliveries it fails, and its work is lost: the number of
 * transactions until the next attempt doubles with each failure, and is halved by each success.
 */
function createCopyPace(): CopyPace {
  let pause = 0;
  let left = 0;
  return {
    isDue() {
      left -= 1;
      return left < 0;
    },
    ended(isStored) {
      pause = isStored ? pause >> 1 : Math.min(2 * pause + 1, MAX_WITHOUT_COPY);
      left = pause;
    },
  };
}

/** Stores deliveries by COPY, if that is due and possible. Throws as any transaction does. */
async function tryCopying(
  { db, copying, refusals }: StoringContext,
  deliveries: readonly ReadDelivery[],
): Promise<readonly NewDelivery[] | undefined> {
  if (copying?.isDue() !== true) return undefined;
  let rows: readonly NewDelivery[] | undefined;
  try {
    rows = await copyBatch(db, deliveries, await refusals?.read(db));
    return rows;
  } finally {
    copying.ended(rows !== undefined);
  }
}
