import { sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';
import { waitFor } from './wait-for.ts';

/**
 * Waits until those who follow events see all that are stored: open transactions of other tests, in other databases of
 * the same server, hold them back for a while.
 */
export async function untilSeen(db: Db): Promise<void> {
  await waitFor(async () => {
    const { rows } = await sql<{ seen: boolean }>`
      select coalesce(max(xid) < pg_snapshot_xmin(pg_current_snapshot()), true) as seen from events`.execute(
      db,
    );
    return rows[0]?.seen === true;
  });
}
