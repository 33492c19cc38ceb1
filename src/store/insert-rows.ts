import { sql } from 'kysely';
import type { Trx } from './database.ts';

/**
 * Inserts rows by one statement in which a column travels as one array, because a statement has 65,535 parameters
 * at most. `columns` names what is written, with its SQL type. A row whose key is there already stays as it is.
 */
export async function insertRows<Row>(
  trx: Trx,
  table: 'deliveries' | 'quarantine',
  columns: readonly (readonly [keyof Row & string, string])[],
  rows: readonly Row[],
): Promise<void> {
  const names = sql.join(columns.map(([column]) => sql.ref(column)));
  const arrays = columns.map(([column, type]) => sql`${rows.map((row) => row[column])}::${sql.raw(type)}[]`);
  await sql`
    insert into ${sql.table(table)} (${names})
    select * from unnest(${sql.join(arrays)})
    on conflict do nothing`.execute(trx);
}
