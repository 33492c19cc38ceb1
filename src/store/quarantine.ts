import type { Insertable } from 'kysely';
import type { Database, Trx } from './database.ts';

export type NewQuarantined = Insertable<Database['quarantine']>;

/** Sets bytes or records aside. What another run of the same job has set aside stays as it is. */
export async function insertQuarantine(trx: Trx, rows: readonly NewQuarantined[]): Promise<void> {
  if (rows.length === 0) return;
  await trx
    .insertInto('quarantine')
    .values(rows)
    .onConflict((conflict) => conflict.column('quarantine_id').doNothing())
    .execute();
}
