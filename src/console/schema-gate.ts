import pTimeout from 'p-timeout';
import { HttpError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import { readMigrationState } from '../store/server/schema/migrate.ts';

/** Passes when the database has every table of this program. Throws HttpError 503 while it is being prepared. */
export type SchemaGate = () => Promise<void>;

const PATIENCE_MS = 3_000;

const RETRY_AFTER_SECONDS = 2;

/**
 * Checks the migrations until none is pending, and never again. A database that does not answer passes: each page
 * reports that itself, and the overview still shows everything else.
 */
export function createSchemaGate(db: Db): SchemaGate {
  let isPrepared = false;
  return async () => {
    if (isPrepared) return;
    const state = await pTimeout(readMigrationState(db), { milliseconds: PATIENCE_MS }).catch(
      () => undefined,
    );
    if (state === undefined) return;
    isPrepared = state.pending.length === 0;
    if (isPrepared) return;
    const message = 'the database is being prepared; try again in a few seconds';
    throw new HttpError(503, 'DATABASE_NOT_READY', message, { retryAfter: RETRY_AFTER_SECONDS });
  };
}
