import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import type { Database, Db, Trx } from './database.ts';
import { arrayLiteral } from './insert-rows.ts';

/** Something in quarantine with its bytes, and how its delivery had come. */
export type LockedQuarantined = Selectable<
  Database['quarantine'] & Pick<Database['deliveries'], 'origin' | 'secret_form'>
>;

/** Reads what has these ids, and keeps others from resolving it until the transaction ends. */
export async function lockQuarantined(trx: Trx, ids: readonly string[]): Promise<LockedQuarantined[]> {
  return trx
    .selectFrom('quarantine')
    .innerJoin('deliveries', 'deliveries.delivery_id', 'quarantine.delivery_id')
    .selectAll('quarantine')
    .select(['deliveries.origin', 'deliveries.secret_form'])
    .where('quarantine_id', 'in', ids)
    .orderBy('quarantine_id')
    .forUpdate('quarantine')
    .execute();
}

/** Remembers as which delivery each was replayed. */
export async function resolveAsReplayed(
  trx: Trx,
  replays: readonly { readonly quarantineId: string; readonly deliveryId: string }[],
): Promise<void> {
  const ids = arrayLiteral(replays.map(({ quarantineId }) => quarantineId));
  const deliveryIds = arrayLiteral(replays.map(({ deliveryId }) => deliveryId));
  await sql`
    update quarantine set resolution = 'replayed', resolved_at = now(), replay_delivery_id = replays.delivery_id
    from unnest(${ids}::uuid[], ${deliveryIds}::uuid[]) as replays (id, delivery_id)
    where quarantine_id = replays.id`.execute(trx);
}

/** Empties the bytes of what has these ids and is open; the rows stay. Returns how many there were. */
export async function discardQuarantined(db: Db, ids: readonly string[]): Promise<number> {
  const { numAffectedRows } = await sql`
    update quarantine
    set resolution = 'discarded', resolved_at = now(), discarded_bytes = octet_length(content), content = ''
    where quarantine_id = any(${arrayLiteral(ids)}::uuid[]) and resolution is null`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** What a replay's delivery came to. */
export interface ReplayAccount {
  readonly events: number;
  readonly duplicates: number;
  /** What could not be read this time either, or not be stored: where it lies now, and why. */
  readonly again: readonly { readonly quarantineId: string; readonly reason: string }[];
}

/** What these deliveries came to, by id. */
export async function findAccounts(
  db: Db,
  deliveryIds: readonly string[],
): Promise<ReadonlyMap<string, ReplayAccount>> {
  const { rows } = await sql<{ id: string; account: ReplayAccount }>`
    select delivery_id as id, jsonb_build_object(
      'events', event_count, 'duplicates', duplicate_count, 'again', coalesce((
        select jsonb_agg(jsonb_build_object('quarantineId', quarantine_id, 'reason', reason) order by quarantine_id)
        from quarantine where quarantine.delivery_id = deliveries.delivery_id
      ), '[]')
    ) as account
    from deliveries where delivery_id = any(${arrayLiteral(deliveryIds)}::uuid[])`.execute(db);
  return new Map(rows.map(({ id, account }) => [id, account]));
}
