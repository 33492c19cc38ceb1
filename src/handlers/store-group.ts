import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../errors.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { Db } from '../store/database.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import { classifyFailure } from '../store/failure.ts';
import { summarize } from './account.ts';
import { ConversionError, setAsideWhole } from './delivery-to-events.ts';
import { FAILURE_RULES } from './failure-rules.ts';
import { storeDeliveries } from './store-deliveries.ts';

/** Is told of every transaction: the rows of the deliveries that it has stored, and how long it took. */
export type OnStored = (rows: readonly NewDelivery[], seconds: number) => void;

/** Where deliveries are stored, and when to stop waiting for it. */
export interface StoringContext {
  readonly db: Db;
  readonly logger: Logger;
  readonly giveUp: AbortSignal;
  readonly onStored?: OnStored | undefined;
}

/** How long a transaction rests between attempts while the database is away. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** Two transactions that were in each other's way must not come back at the same moment. */
const MIN_CONFLICT_PAUSE_MS = 10;
const MAX_CONFLICT_PAUSE_MS = 100;

/** So often a delivery is tried alone before it is held for the one that cannot be stored. */
const ATTEMPTS_ALONE = 3;

/** That `giveUp` has fired while a transaction waited: none of the other deliveries is to be tried. */
class GaveUpError extends OutageError {}

/**
 * Stores deliveries in one transaction, and where a defect prevents that, each in its own: one that fails even alone
 * goes to quarantine whole. Resolves once all are stored, with the rows of those that were not before. Throws
 * OutageError once `giveUp` fires in an outage, and what was thrown last when a delivery can be stored in no way.
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
      'deliveries cannot be stored together and are stored one by one',
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
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} deliveries can be stored in no way`);
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
          'a delivery cannot be stored and goes to quarantine whole',
        );
        return await storeTogether(context, [setAsideWhole(delivery, describeError(error))]);
      }
      await pause(context, MIN_PAUSE_MS, error);
    }
  }
}

/** Stores deliveries in one transaction, through everything that passes. Throws what concerns the deliveries. */
async function storeTogether(
  context: StoringContext,
  deliveries: readonly ReadDelivery[],
): Promise<readonly NewDelivery[]> {
  const { db, logger } = context;
  const began = performance.now();
  let isolate = false;
  let pauseMs = MIN_PAUSE_MS;
  for (;;) {
    try {
      const rows = await storeDeliveries(db, deliveries, isolate);
      const ms = performance.now() - began;
      context.onStored?.(rows, ms / 1000);
      logger.debug({ ...summarize(rows), ms: Math.round(ms) }, 'transaction committed');
      return rows;
    } catch (error) {
      const kind = kindOf(error);
      const { remedy } = FAILURE_RULES[kind];
      if (remedy === 'isolate records' && !isolate) {
        isolate = true;
      } else if (remedy === 'again') {
        logger.debug(`deliveries are stored again (${kind}): ${describeError(error)}`);
        const spread = MAX_CONFLICT_PAUSE_MS - MIN_CONFLICT_PAUSE_MS;
        await pause(context, MIN_CONFLICT_PAUSE_MS + Math.random() * spread, error);
      } else if (remedy === 'wait') {
        logger.warn(
          { pause: pauseMs },
          `deliveries wait for the database (${kind}): ${describeError(error)}`,
        );
        await pause(context, pauseMs, error);
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      } else {
        throw error;
      }
    }
  }
}

const kindOf = (error: unknown) =>
  error instanceof ConversionError ? 'conversion defect' : classifyFailure(error);

async function pause({ giveUp }: StoringContext, ms: number, cause: unknown): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: giveUp });
  } catch {
    throw new GaveUpError('gave up waiting for the database', { cause });
  }
}
