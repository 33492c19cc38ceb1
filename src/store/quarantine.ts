import type { Insertable } from 'kysely';
import type { Database, Trx } from './database.ts';
import { insertRows } from './insert-rows.ts';

export type NewQuarantined = Insertable<Database['quarantine']>;

const COLUMNS = [
  ['quarantine_id', 'uuid'],
  ['delivery_id', 'uuid'],
  ['received_at', 'timestamptz'],
  ['source', 'text'],
  ['message_type', 'text'],
  ['reason', 'text'],
  ['content', 'bytea'],
] as const;

/** Sets bytes or records aside. What another run of the same job has set aside stays as it is. */
export async function insertQuarantine(trx: Trx, rows: readonly NewQuarantined[]): Promise<void> {
  if (rows.length > 0) await insertRows(trx, 'quarantine', COLUMNS, rows);
}
