import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../lib/errors.ts';
import { failuresIn } from '../lib/failure-log.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import type { Lane } from '../queue/lanes.ts';
import type { Db, Trx } from '../store/server/database.ts';
import { MonthsMissingError } from '../store/partitions/months-on-demand.ts';
import { classifyFailure } from '../store/server/failure.ts';
import { ConversionError } from './delivery-to-events.ts';
import { STORING_RULES } from './failure-rules.ts';

export interface TransactionContext {
  readonly db: Db;
  readonly logger: Logger;
  readonly giveUp: AbortSignal;
  /** Observes waits for the database, in this lane. */
  readonly observer?: DeliveryObserver;
  readonly lane?: Lane | undefined;
}

/** The pause between attempts while the database is away. It doubles each time. */
export const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** Two transactions in conflict must not start again at the same moment. */
const MIN_CONFLICT_PAUSE_MS = 10;
const MAX_CONFLICT_PAUSE_MS = 100;

/** `giveUp` fired while a transaction waited for the database: nothing else is to be tried either. */
export class ShutdownDuringOutageError extends OutageError {}

/** How a transaction stores, in the order in which refused rows lead from one to the next. */
type StoreMode = 'copying' | 'inserting' | 'isolating';

/**
 * Runs work in a transaction and retries it by the failure rules, through conflicts and outages. The work must
 * isolate the rows that Postgres refuses once it has failed because of one. `copy` is a cheaper way, which is tried once
 * before; it resolves with undefined if it is not possible. Throws OutageError when `giveUp` fires during an outage, and
 * every error that repeating cannot mend. Months that the work misses are created before the next attempt.
 */
export async function runTransaction<T>(
  context: TransactionContext,
  work: (trx: Trx, isolate: boolean) => Promise<T>,
  copy: () => Promise<T | undefined> = async () => undefined,
): Promise<T> {
  const { db, logger } = context;
  const failures = failuresIn(logger);
  const done = (result: T) => {
    failures.clear('storing');
    return result;
  };
  let missing: MonthsMissingError | undefined;
  let modes: readonly StoreMode[] = ['copying', 'inserting', 'isolating'];
  let pauseMs = MIN_PAUSE_MS;
  for (;;) {
    const [mode, ...next] = modes;
    try {
      await missing?.create(db);
      missing = undefined;
      if (mode !== 'copying') {
        return done(await db.transaction().execute((trx) => work(trx, mode === 'isolating')));
      }
      modes = next;
      const copied = await copy();
      if (copied !== undefined) return done(copied);
    } catch (error) {
      if (error instanceof MonthsMissingError) {
        missing = error;
        continue;
      }
      const kind = kindOf(error);
      const remedy = STORING_RULES[kind];
      if (remedy === 'isolate records' && next.length > 0) {
        modes = next;
      } else if (remedy === 'again') {
        logger.debug(`transaction retried (${kind}): ${describeError(error)}`);
        const spread = MAX_CONFLICT_PAUSE_MS - MIN_CONFLICT_PAUSE_MS;
        await pause(context, MIN_CONFLICT_PAUSE_MS + Math.random() * spread, error);
      } else if (remedy === 'wait') {
        context.observer?.waiting(context.lane, `${kind}: ${describeError(error)}`);
        failures.report('storing', error, `waiting for the database (${kind})`);
        await pause(context, pauseMs, error);
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      } else {
        throw error;
      }
    }
  }
}

export const kindOf = (error: unknown) =>
  error instanceof ConversionError ? 'conversion defect' : classifyFailure(error);

/** Waits, unless `giveUp` fires: then it throws a ShutdownDuringOutageError with this cause. */
export async function pause({ giveUp }: Pick<TransactionContext, 'giveUp'>, ms: number, cause: unknown) {
  try {
    await sleep(ms, undefined, { signal: giveUp });
  } catch {
    throw new ShutdownDuringOutageError('stopped waiting for the database', { cause });
  }
}
