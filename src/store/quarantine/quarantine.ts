import { sql, type Insertable, type Selectable } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Origin } from '../../events/domain.ts';
import type { Db, Trx } from '../server/database.ts';
import { arrayLiteral } from '../events/insert-rows.ts';
import { receivedConditions, type ReceivedFilter } from '../deliveries/search-deliveries.ts';
import { inScope, type Scope } from '../server/scope.ts';
import type { Tables } from '../server/schema/tables.ts';
import { run } from '../server/statement.ts';
import type { Resolution } from '../server/schema/delivery-tables.ts';

/** An item to be quarantined: its origin, the reason, and the original bytes. */
export type NewQuarantined = Insertable<Tables['quarantine']>;

/** One statement inserts at most this many items: building it takes a few milliseconds. */
const MAX_ROWS = 200;

/** Inserts quarantined items. Those that an earlier run of the same job inserted are kept as they are. */
export async function insertQuarantine(trx: Trx, items: readonly NewQuarantined[]): Promise<void> {
  for (let at = 0; at < items.length; at += MAX_ROWS) {
    await trx
      .insertInto('quarantine')
      .values(items.slice(at, at + MAX_ROWS))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** A quarantined item with its bytes, and the origin of its delivery. */
export type LockedQuarantined = Selectable<
  Tables['quarantine'] & Pick<Tables['deliveries'], 'origin' | 'secret_form'>
>;

/** Reads the items with these ids, and keeps others from resolving them until the transaction ends. */
export async function lockQuarantined(trx: Trx, scope: Scope, ids: readonly string[]) {
  return (
    trx
      .selectFrom('quarantine')
      // Retention may have dropped the delivery.
      .leftJoin('deliveries', 'deliveries.delivery_id', 'quarantine.delivery_id')
      .selectAll('quarantine')
      .select([sql<Origin>`coalesce(deliveries.origin, 'webhook')`.as('origin'), 'deliveries.secret_form'])
      .where('quarantine_id', 'in', ids)
      .where(inScope(scope, 'quarantine.source'))
      .orderBy('quarantine_id')
      .forUpdate('quarantine')
      .execute()
  );
}

/** Marks items as replayed, each by its new delivery. */
export async function resolveAsReplayed(
  trx: Trx,
  replays: readonly { readonly quarantineId: string; readonly deliveryId: string }[],
): Promise<void> {
  const ids = arrayLiteral(replays.map(({ quarantineId }) => quarantineId));
  const deliveryIds = arrayLiteral(replays.map(({ deliveryId }) => deliveryId));
  await run(trx)`
    update quarantine set resolution = 'replayed', resolved_at = now(), replay_delivery_id = replays.delivery_id
    from unnest(${ids}::uuid[], ${deliveryIds}::uuid[]) as replays (id, delivery_id)
    where quarantine_id = replays.id`;
}

/** Deletes the content of the open items with these ids and keeps their rows. Resolves with the number of items. */
export async function discardQuarantined(db: Db, scope: Scope, ids: readonly string[]): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('quarantine')
    .set({
      resolution: 'discarded',
      resolved_at: sql`now()`,
      discarded_bytes: sql`octet_length(content)`,
      content: Buffer.alloc(0),
    })
    .where(sql<boolean>`quarantine_id = any(${arrayLiteral(ids)}::uuid[])`)
    .where('resolution', 'is', null)
    .where(inScope(scope))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Counts the quarantined items that were received in a range. */
export async function countReceivedItems(
  db: Db,
  scope: Scope,
  range: Pick<ReceivedFilter, 'since' | 'until' | 'source'>,
) {
  return db
    .selectFrom('quarantine')
    .select([
      sql<number>`count(*) filter (where resolution is null)::float8`.as('open'),
      sql<number>`count(*) filter (where resolution = 'replayed')::float8`.as('replayed'),
      sql<number>`count(*) filter (where resolution = 'discarded')::float8`.as('discarded'),
    ])
    .where((is) => is.and(receivedConditions(scope, range)))
    .executeTakeFirstOrThrow();
}

export interface ReplayTally {
  readonly events: number;
  readonly duplicates: number;
  /** Items quarantined again, because they still could not be read or stored. */
  readonly again: readonly { readonly quarantineId: string; readonly reason: string }[];
}

/** The counts of these deliveries, by id. */
export async function findReplayTallies(db: Db, scope: Scope, deliveryIds: readonly string[]) {
  const rows = await db
    .selectFrom('deliveries')
    .select((row) => [
      'delivery_id',
      'event_count as events',
      'duplicate_count as duplicates',
      jsonArrayFrom(
        row
          .selectFrom('quarantine')
          .select(['quarantine_id as quarantineId', 'reason'])
          .whereRef('quarantine.delivery_id', '=', 'deliveries.delivery_id')
          .orderBy('quarantine_id'),
      ).as('again'),
    ])
    .where(sql<boolean>`delivery_id = any(${arrayLiteral(deliveryIds)}::uuid[])`)
    .where(inScope(scope))
    .execute();
  return new Map(rows.map(({ delivery_id: id, ...tally }) => [id, tally]));
}

export type Replay = { readonly quarantineId: string } & (
  | ({ readonly kind: 'replayed'; readonly deliveryId: string } & ReplayTally)
  /** The item was resolved before; nothing was done. */
  | {
      readonly kind: 'resolved';
      readonly resolution: Resolution;
      readonly resolvedAt: Date;
      readonly deliveryId: string | null;
    }
  /** A new delivery with this content would be refused too, or the replay failed: the item stays open. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' }
);

/** The sums over replays; `left` counts items that stayed open or do not exist. */
export const NO_REPLAYS = { replayed: 0, events: 0, duplicates: 0, again: 0, left: 0 };

export type ReplaySums = Readonly<typeof NO_REPLAYS>;

export function addReplay(sums: ReplaySums, replay: Replay): ReplaySums {
  switch (replay.kind) {
    case 'replayed':
      return {
        replayed: sums.replayed + 1,
        events: sums.events + replay.events,
        duplicates: sums.duplicates + replay.duplicates,
        again: sums.again + replay.again.length,
        left: sums.left,
      };
    case 'refused':
    case 'unknown':
      return { ...sums, left: sums.left + 1 };
    case 'resolved':
      return sums;
  }
}
