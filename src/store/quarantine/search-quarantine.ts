import { sql, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely';
import type { Db } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { receivedConditions, type ReceivedFilter } from '../deliveries/search-deliveries.ts';
import type { QuarantineState } from '../server/schema/delivery-tables.ts';
import type { Tables } from '../server/schema/tables.ts';

export interface QuarantineFilter extends ReceivedFilter {
  /** Part of the reason, in any case. */
  readonly reason?: string | undefined;
}

/** A quarantined item without its content, of which `bytes` is the size, also after it was discarded. */
export type Quarantined = Readonly<Awaited<ReturnType<typeof findQuarantined>>[number]>;

const selectItems = (db: Db) =>
  db
    .selectFrom('quarantine')
    .select(['quarantine_id', 'delivery_id', 'received_at', 'source', 'message_type', 'reason', 'encoding'])
    .select(['resolution', 'resolved_at', 'replay_delivery_id'])
    .select(sql<number>`coalesce(discarded_bytes, octet_length(content))`.as('bytes'));

/** The number of open items of each source that has some. */
export async function countOpenBySource(db: Db, scope: Scope): Promise<ReadonlyMap<string, number>> {
  const counts = await db
    .selectFrom('quarantine')
    .select((row) => ['source', row.cast<number>(row.fn.countAll(), 'float8').as('open')])
    .where('resolution', 'is', null)
    .where(inScope(scope))
    .groupBy('source')
    .execute();
  return new Map(counts.map(({ source, open }) => [source, open]));
}

/** The matching items, newest first; those after the item with the id `after`, if given. */
export async function searchQuarantine(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  state: QuarantineState,
  limit: number,
  after?: string,
): Promise<Quarantined[]> {
  const newest = selectItems(db)
    .where(matching(scope, filter, state))
    .orderBy('received_at', 'desc')
    .orderBy('quarantine_id', 'desc')
    .limit(limit);
  if (after === undefined) return newest.execute();
  return newest.where(sql<boolean>`(received_at, quarantine_id) < ${placeOf(scope, after)}`).execute();
}

export async function countQuarantine(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  state: QuarantineState,
): Promise<number> {
  const { count } = await db
    .selectFrom('quarantine')
    .select(db.fn.countAll().as('count'))
    .where(matching(scope, filter, state))
    .executeTakeFirstOrThrow();
  return Number(count);
}

export type OpenQuarantine = Awaited<ReturnType<typeof readOpenQuarantine>>;

/** Counting further would take long, and a larger number would not change what to do. */
export const MAX_OPEN_COUNT = 10_000;

/** Counts the open items, up to `most`. */
export async function readOpenQuarantine(db: Db, scope: Scope, most = MAX_OPEN_COUNT + 1) {
  const oldest = db
    .selectFrom('quarantine')
    .select('received_at')
    .where('resolution', 'is', null)
    .where(inScope(scope))
    .orderBy('received_at')
    .orderBy('quarantine_id')
    .limit(most);
  return db
    .selectFrom(oldest.as('open'))
    .select((open) => [
      open.cast<number>(open.fn.countAll(), 'integer').as('count'),
      open.fn.min<Date | null>('received_at').as('oldestReceivedAt'),
    ])
    .executeTakeFirstOrThrow();
}

/** The items with these ids, in no particular order. An unknown id is skipped. */
export async function findQuarantined(db: Db, scope: Scope, ids: readonly string[]) {
  return selectItems(db)
    .where(sql<boolean>`quarantine_id = any(${ids}::uuid[])`)
    .where(inScope(scope))
    .execute();
}

/** The items of a delivery, resolved or not, up to a limit. */
export async function quarantinedOf(db: Db, scope: Scope, deliveryId: string, limit: number) {
  return selectItems(db)
    .where('delivery_id', '=', deliveryId)
    .where(inScope(scope))
    .orderBy('quarantine_id')
    .limit(limit)
    .execute();
}

/** The id of the item that was replayed as this delivery; undefined when the delivery is not a replay. */
export async function findReplayed(db: Db, scope: Scope, deliveryId: string): Promise<string | undefined> {
  const replayed = await db
    .selectFrom('quarantine')
    .select('quarantine_id')
    .where('replay_delivery_id', '=', deliveryId)
    .where(inScope(scope))
    .executeTakeFirst();
  return replayed?.quarantine_id;
}

/** The original bytes of an item; empty when it was discarded. */
export async function readContent(db: Db, scope: Scope, id: string): Promise<Buffer> {
  const { content } = await db
    .selectFrom('quarantine')
    .select('content')
    .where('quarantine_id', '=', id)
    .where(inScope(scope))
    .executeTakeFirstOrThrow();
  return content;
}

/** The open items that match, oldest first, page by page. Items quarantined meanwhile are left out. */
export async function* openQuarantine(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  pageSize: number,
): AsyncGenerator<Quarantined[]> {
  let place: OpenPlace | undefined;
  do {
    const { items, next } = await pageOfOpen(db, scope, filter, pageSize, place);
    if (items.length > 0) yield items;
    place = next;
  } while (place !== undefined);
}

export interface OpenPlace {
  /** When the first page was read, in Postgres' text form. */
  readonly began: string;
  /** The last id of the page. */
  readonly after: string;
}

/**
 * One page of the open items that match, oldest first, after a place. Items quarantined since the first page was read
 * are omitted: a failed replay quarantines again, and the new item must not be replayed in turn.
 */
export async function pageOfOpen(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  limit: number,
  place?: OpenPlace,
): Promise<{ readonly items: Quarantined[]; readonly next: OpenPlace | undefined }> {
  const { began } =
    place ?? (await db.selectNoFrom(sql<string>`now()::text`.as('began')).executeTakeFirstOrThrow());
  let query = selectItems(db)
    .where(matching(scope, filter, 'open'))
    .where((is) =>
      is.not(
        is.exists(
          is
            .selectFrom('deliveries')
            .select('stored_at')
            .whereRef('deliveries.delivery_id', '=', 'quarantine.delivery_id')
            .where('stored_at', '>', sql<Date>`${began}::timestamptz`),
        ),
      ),
    )
    .orderBy('received_at')
    .orderBy('quarantine_id')
    .limit(limit);
  if (place !== undefined)
    query = query.where(sql<boolean>`(received_at, quarantine_id) > ${placeOf(scope, place.after)}`);
  const items = await query.execute();
  const last = items.at(-1);
  const next = last === undefined || items.length < limit ? undefined : { began, after: last.quarantine_id };
  return { items, next };
}

/** Postgres' times are finer than JavaScript's, so the place is looked up by the id. */
const placeOf = (scope: Scope, id: string) =>
  sql`((select received_at from quarantine where quarantine_id = ${id}::uuid and ${inScope(scope)}), ${id}::uuid)`;

const matching =
  (scope: Scope, filter: QuarantineFilter, state: QuarantineState) =>
  (is: ExpressionBuilder<Tables, 'quarantine'>) => {
    const { reason } = filter;
    const conditions: Expression<SqlBool>[] = [...receivedConditions(scope, filter)];
    if (state === 'open') conditions.push(is('resolution', 'is', null));
    else if (state !== 'all') conditions.push(is('resolution', '=', state));
    if (reason !== undefined) conditions.push(sql`strpos(lower(reason), lower(${reason})) > 0`);
    return is.and(conditions);
  };
