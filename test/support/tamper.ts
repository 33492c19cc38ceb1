import { sql, type RawBuilder } from 'kysely';
import { unguarded, type Change } from './database.ts';
import type { Db } from '../../src/store/server/database.ts';

const ORDERED = [
  'deliveries',
  'audit_events',
  'location_observations',
  'log_entries',
  'alerts_received',
  'other_events',
];

/** Does what a superuser can do who switches every trigger off, also the one of those who store in order. */
export async function freely(db: Db, ...changes: readonly Change[]): Promise<void> {
  const switchTriggers = (how: string) =>
    ORDERED.map((table) => sql`alter table only ${sql.id(table)} ${sql.raw(how)} trigger store_in_order`);
  await unguarded(db, ...switchTriggers('disable'), ...changes, ...switchTriggers('enable always'));
}

/** Changes these tables as `freely` does, looks, and gives them back what they had. Resolves with what was seen. */
export async function whileTampered<T>(
  db: Db,
  tables: readonly string[],
  change: RawBuilder<unknown>,
  look: () => Promise<T>,
): Promise<T> {
  await sql`create schema kept`.execute(db);
  for (const table of tables)
    await sql`create table kept.${sql.id(table)} as table ${sql.id(table)}`.execute(db);
  try {
    await freely(db, change);
    return await look();
  } finally {
    await freely(db, async (trx) => {
      for (const name of tables) {
        const [table, kept] = [sql.id(name), sql.id('kept', name)];
        await sql`delete from ${table}`.execute(trx);
        await sql`insert into ${table} overriding system value select * from ${kept}`.execute(trx);
      }
    });
    await sql`drop schema kept cascade`.execute(db);
  }
}
