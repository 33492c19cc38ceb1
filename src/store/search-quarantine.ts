import { sql } from 'kysely';
import type { MessageType, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { Db } from './database.ts';
import { inScope, type Scope } from './scope.ts';
import type { QuarantineState, Resolution } from './tables.ts';

/** Conditions on quarantined items. All conditions that are given must hold. */
export interface QuarantineFilter {
  readonly source?: string | undefined;
  readonly messageType?: MessageType | typeof UNKNOWN_MESSAGE_TYPE | undefined;
  /** Part of the reason, in any case. */
  readonly reason?: string | undefined;
  /** Time of receipt, inclusive. */
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

/** A quarantined item without its bytes. */
export interface Quarantined {
  readonly quarantine_id: string;
  readonly delivery_id: string;
  readonly received_at: Date;
  readonly source: string;
  readonly message_type: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
  readonly reason: string;
  readonly encoding: string | null;
  /** Size of the content, also after it was discarded. */
  readonly bytes: number;
  readonly resolution: Resolution | null;
  readonly resolved_at: Date | null;
  readonly replay_delivery_id: string | null;
}

const COLUMNS = [
  'quarantine_id',
  'delivery_id',
  'received_at',
  'source',
  'message_type',
  'reason',
  'encoding',
  sql<number>`coalesce(discarded_bytes, octet_length(content))`.as('bytes'),
  'resolution',
  'resolved_at',
  'replay_delivery_id',
] as const;

/** The number of open items; counting ends at `most`. */
export async function countOpen(db: Db, scope: Scope, most: number): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::int as open from (
      select from quarantine where resolution is null and ${inScope(scope)} limit ${most}
    ) as counted`.execute(db);
  return rows[0]?.open ?? 0;
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
  let query = matching(db, scope, filter, state)
    .select(COLUMNS)
    .orderBy('received_at', 'desc')
    .orderBy('quarantine_id', 'desc')
    .limit(limit);
  if (after !== undefined)
    query = query.where(sql<boolean>`(received_at, quarantine_id) < ${placeOf(scope, after)}`);
  return query.execute();
}

/** The number of matching items. */
export async function countQuarantine(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  state: QuarantineState,
): Promise<number> {
  const { count } = await matching(db, scope, filter, state)
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The open items in quarantine. */
export interface OpenQuarantine {
  /** Counted up to MAX_OPEN_COUNT + 1. */
  readonly count: number;
  readonly oldestReceivedAt: Date | null;
}

/** Counting further would take long, and a larger number would not change what to do. */
export const MAX_OPEN_COUNT = 10_000;

/** Counts the open items, up to a limit that keeps the query fast. */
export async function readOpenQuarantine(db: Db, scope: Scope): Promise<OpenQuarantine> {
  const { rows } = await sql<OpenQuarantine>`
    select count(*)::int as count, min(received_at) as "oldestReceivedAt" from (
      select received_at from quarantine where resolution is null and ${inScope(scope)}
      order by received_at, quarantine_id limit ${MAX_OPEN_COUNT + 1}
    ) as open`.execute(db);
  return rows[0] ?? { count: 0, oldestReceivedAt: null };
}

/** The items with these ids, in no particular order. An unknown id is skipped. */
export async function findQuarantined(db: Db, scope: Scope, ids: readonly string[]): Promise<Quarantined[]> {
  return db
    .selectFrom('quarantine')
    .select(COLUMNS)
    .where('quarantine_id', 'in', ids)
    .where(inScope(scope))
    .execute();
}

/** The items of a delivery, resolved or not, up to a limit. */
export async function quarantinedOf(
  db: Db,
  scope: Scope,
  deliveryId: string,
  limit: number,
): Promise<Quarantined[]> {
  return db
    .selectFrom('quarantine')
    .select(COLUMNS)
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

/** The end of a page of open items. */
export interface OpenPlace {
  /** When the first page was read, in Postgres' text form. */
  readonly began: string;
  /** The last id of the page. */
  readonly after: string;
}

/**
 * One page of the open items that match, oldest first, after a place. Items quarantined since the first page was read
 * are left out: a replay that fails quarantines anew, and that item must not be replayed in turn.
 */
export async function pageOfOpen(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  limit: number,
  place?: OpenPlace,
): Promise<{ readonly items: Quarantined[]; readonly next: OpenPlace | undefined }> {
  const began = place?.began ?? (await nowOf(db));
  let query = matching(db, scope, filter, 'open')
    .select(COLUMNS)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('deliveries')
            .whereRef('deliveries.delivery_id', '=', 'quarantine.delivery_id')
            .where(sql<boolean>`stored_at > ${began}::timestamptz`)
            .select('stored_at'),
        ),
      ),
    )
    .orderBy('received_at')
    .orderBy('quarantine_id')
    .limit(limit);
  if (place !== undefined) {
    query = query.where(sql<boolean>`(received_at, quarantine_id) > ${placeOf(scope, place.after)}`);
  }
  const items = await query.execute();
  const last = items.at(-1);
  return {
    items,
    next: last === undefined || items.length < limit ? undefined : { began, after: last.quarantine_id },
  };
}

async function nowOf(db: Db): Promise<string> {
  const { rows } = await sql<{ now: string }>`select now()::text as now`.execute(db);
  return rows[0]?.now ?? '';
}

/** Postgres' times are finer than JavaScript's, so the place is looked up by the id. */
const placeOf = (scope: Scope, id: string) =>
  sql`((select received_at from quarantine where quarantine_id = ${id}::uuid and ${inScope(scope)}), ${id}::uuid)`;

function matching(db: Db, scope: Scope, filter: QuarantineFilter, state: QuarantineState) {
  let query = db.selectFrom('quarantine').where(inScope(scope));
  if (state === 'open') query = query.where('resolution', 'is', null);
  else if (state !== 'all') query = query.where('resolution', '=', state);
  const { source, messageType, reason, since, until } = filter;
  if (source !== undefined) query = query.where('source', '=', source);
  if (messageType !== undefined) query = query.where('message_type', '=', messageType);
  if (reason !== undefined) query = query.where(sql<boolean>`strpos(lower(reason), lower(${reason})) > 0`);
  if (since !== undefined) query = query.where('received_at', '>=', since);
  if (until !== undefined) query = query.where('received_at', '<', until);
  return query;
}
