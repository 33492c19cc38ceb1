import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { verifyNext } from '../ledger/verify-in-turn.ts';
import type { Db } from '../store/database.ts';
import { closing } from './closing.ts';
import { repeat } from './repeat.ts';

const INTERVAL_MS = 5_000;

/** Verifies stored rows from now on, some at a time. */
export function startVerifying(logger: Logger, db: Db, started: AsyncDisposableStack): void {
  const verify = async () => {
    const found = await verifyNext(db);
    if (found !== undefined && found.altered + found.missing > 0) {
      const { altered, missing } = found;
      logger.error({ altered, missing }, 'stored rows are not what was sealed: run verify to see which');
    }
    return 'done' as const;
  };
  const verifying = repeat(INTERVAL_MS, verify, (error) => {
    logger.warn({ err: error }, `stored rows were not verified: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'verification', () => verifying.stop()));
}
