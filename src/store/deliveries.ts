import { sql } from 'kysely';
import type { Insertable } from 'kysely';
import type { Database, Trx } from './database.ts';
import { insertRows } from './insert-rows.ts';

export type NewDelivery = Insertable<Database['deliveries']>;

/** Which of these deliveries are in the tables already, because their job ran before. */
export async function findStoredDeliveries(trx: Trx, deliveryIds: readonly string[]): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('delivery_id', '=', sql<string>`any(${deliveryIds}::uuid[])`)
    .execute();
  return new Set(rows.map((row) => row.delivery_id));
}

const COLUMNS = [
  ['delivery_id', 'uuid'],
  ['received_at', 'timestamptz'],
  ['body_bytes', 'integer'],
  ['record_count', 'integer'],
  ['expected_count', 'integer'],
  ['event_count', 'integer'],
  ['duplicate_count', 'integer'],
  ['quarantined_count', 'integer'],
  ['source', 'text'],
  ['message_type', 'text'],
  ['origin', 'text'],
  ['secret_form', 'text'],
] as const;

/** Inserts deliveries by one statement. One that another run of the same job has stored stays as it is. */
export async function insertDeliveries(trx: Trx, deliveries: readonly NewDelivery[]): Promise<void> {
  await insertRows(trx, 'deliveries', COLUMNS, deliveries);
}
