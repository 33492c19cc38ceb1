import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../src/store/server/database.ts';
import { waitFor } from './wait-for.ts';

/**
 * Begins `work` while another transaction holds the rows that a statement locks or changes, and commits that once the work
 * waits for it. Resolves with the result of the work; fails if the work ends without waiting.
 */
export async function whileHeld<T>(db: Db, holding: RawBuilder<unknown>, work: () => Promise<T>): Promise<T> {
  const holder = await db.startTransaction().execute();
  await holding.execute(holder);
  let hasEnded = false;
  const working = work().finally(() => {
    hasEnded = true;
  });
  working.catch(() => undefined);
  try {
    await waitFor(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        db,
      );
      if (hasEnded && rows.length === 0) throw new Error('the work did not wait for the rows');
      return rows.length > 0;
    });
  } finally {
    await holder.commit().execute();
  }
  return working;
}

/** Works while nobody else can read or change a table, until the work has ended or unlocks it. */
export async function whileLocked<T>(
  db: Db,
  table: string,
  work: (unlock: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = await db.startTransaction().execute();
  const unlock = async () => {
    if (!holder.isRolledBack) await holder.rollback().execute();
  };
  try {
    await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(holder);
    return await work(unlock);
  } finally {
    await unlock();
  }
}
