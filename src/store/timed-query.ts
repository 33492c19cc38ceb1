import { sql } from 'kysely';
import type { Db, Trx } from './database.ts';

/** SQLSTATE query_canceled: what a statement ends with when its time is over. */
const QUERY_CANCELED = '57014';

/**
 * Runs queries that may take so long each, in a transaction of their own that only reads. Undefined when the server
 * ended one because its time was over.
 */
export async function withinTime<T>(
  db: Db,
  milliseconds: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await db
      .transaction()
      .setAccessMode('read only')
      .execute(async (trx) => {
        await sql`select set_config('statement_timeout', ${String(Math.ceil(milliseconds))}, true)`.execute(
          trx,
        );
        return work(trx);
      });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED) return undefined;
    throw error;
  }
}
