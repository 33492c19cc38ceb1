import { sql } from 'kysely';
import { unguarded } from './database.ts';
import type { Db, Trx } from '../../src/store/server/database.ts';

const ORDERED = [
  'deliveries',
  'audit_events',
  'location_observations',
  'log_entries',
  'alerts_received',
  'other_events',
];

/** Does what a superuser can do who switches every trigger off, also the one of those who store in order. */
export async function freely(db: Db, work: (trx: Trx) => Promise<unknown>): Promise<void> {
  await unguarded(db, async (trx) => {
    for (const table of ORDERED) {
      await sql`alter table only ${sql.id(table)} disable trigger store_in_order`.execute(trx);
    }
    await work(trx);
    for (const table of ORDERED) {
      await sql`alter table only ${sql.id(table)} enable always trigger store_in_order`.execute(trx);
    }
  });
}
