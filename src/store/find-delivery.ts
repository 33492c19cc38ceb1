import type { Selectable } from 'kysely';
import type { Database, Db } from './database.ts';

/** A delivery as it was stored, with its counts. */
export type StoredDelivery = Selectable<Database['deliveries']>;

/** One delivery by its id; undefined when it is not stored. */
export function findDelivery(db: Db, deliveryId: string): Promise<StoredDelivery | undefined> {
  return db.selectFrom('deliveries').selectAll().where('delivery_id', '=', deliveryId).executeTakeFirst();
}
