import { sql, type Selectable } from 'kysely';
import { allOf, type Condition } from './condition.ts';
import type { Db } from './database.ts';
import { inScope, type Scope } from './scope.ts';
import { receivedConditions, type ReceivedFilter } from './search-deliveries.ts';
import type { QuarantineState, Tables } from './tables.ts';
import { allRows, firstRow, onlyRow } from './statement.ts';

/** Conditions on quarantined items. */
export interface QuarantineFilter extends ReceivedFilter {
  /** Part of the reason, in any case. */
  readonly reason?: string | undefined;
}

/** A quarantined item without its bytes. */
export interface Quarantined extends Readonly<
  Omit<Selectable<Tables['quarantine']>, 'content' | 'twins_before' | 'discarded_bytes' | 'sent_type'>
> {
  /** Size of the content, also after it was discarded. */
  readonly bytes: number;
}

const COLUMNS = sql`quarantine_id, delivery_id, received_at, source, message_type, reason, encoding,
  coalesce(discarded_bytes, octet_length(content)) as bytes, resolution, resolved_at, replay_delivery_id`;

/** The number of open items; counting ends at `most`. */
export async function countOpen(db: Db, scope: Scope, most: number): Promise<number> {
  const { open } = await onlyRow<{ open: number }>(db)`
    select count(*)::int as open from (
      select from quarantine where resolution is null and ${inScope(scope)} limit ${most}
    ) as counted`;
  return open;
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
  const isBehind =
    after === undefined ? sql`true` : sql`(received_at, quarantine_id) < ${placeOf(scope, after)}`;
  return allRows<Quarantined>(db)`
    select ${COLUMNS} from quarantine where ${matching(scope, filter, state)} and ${isBehind}
    order by received_at desc, quarantine_id desc limit ${limit}`;
}

/** The number of matching items. */
export async function countQuarantine(
  db: Db,
  scope: Scope,
  filter: QuarantineFilter,
  state: QuarantineState,
): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(db)`
    select count(*)::float8 as count from quarantine where ${matching(scope, filter, state)}`;
  return count;
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
  return onlyRow<OpenQuarantine>(db)`
    select count(*)::int as count, min(received_at) as "oldestReceivedAt" from (
      select received_at from quarantine where resolution is null and ${inScope(scope)}
      order by received_at, quarantine_id limit ${MAX_OPEN_COUNT + 1}
    ) as open`;
}

/** The items with these ids, in no particular order. An unknown id is skipped. */
export async function findQuarantined(db: Db, scope: Scope, ids: readonly string[]): Promise<Quarantined[]> {
  return allRows<Quarantined>(db)`
    select ${COLUMNS} from quarantine where quarantine_id = any(${ids}::uuid[]) and ${inScope(scope)}`;
}

/** The items of a delivery, resolved or not, up to a limit. */
export async function quarantinedOf(
  db: Db,
  scope: Scope,
  deliveryId: string,
  limit: number,
): Promise<Quarantined[]> {
  return allRows<Quarantined>(db)`
    select ${COLUMNS} from quarantine where delivery_id = ${deliveryId}::uuid and ${inScope(scope)}
    order by quarantine_id limit ${limit}`;
}

/** The id of the item that was replayed as this delivery; undefined when the delivery is not a replay. */
export async function findReplayed(db: Db, scope: Scope, deliveryId: string): Promise<string | undefined> {
  const replayed = await firstRow<{ id: string }>(db)`
    select quarantine_id as id from quarantine
    where replay_delivery_id = ${deliveryId}::uuid and ${inScope(scope)}`;
  return replayed?.id;
}

/** The original bytes of an item; empty when it was discarded. */
export async function readContent(db: Db, scope: Scope, id: string): Promise<Buffer> {
  const { content } = await onlyRow<{ content: Buffer }>(db)`
    select content from quarantine where quarantine_id = ${id}::uuid and ${inScope(scope)}`;
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
  const { began } = place ?? (await onlyRow<{ began: string }>(db)`select now()::text as began`);
  const isBehind =
    place === undefined ? sql`true` : sql`(received_at, quarantine_id) > ${placeOf(scope, place.after)}`;
  const items = await allRows<Quarantined>(db)`
    select ${COLUMNS} from quarantine where ${matching(scope, filter, 'open')} and ${isBehind} and not exists (
      select from deliveries
      where deliveries.delivery_id = quarantine.delivery_id and stored_at > ${began}::timestamptz)
    order by received_at, quarantine_id limit ${limit}`;
  const last = items.at(-1);
  const next = last === undefined || items.length < limit ? undefined : { began, after: last.quarantine_id };
  return { items, next };
}

/** Postgres' times are finer than JavaScript's, so the place is looked up by the id. */
const placeOf = (scope: Scope, id: string) =>
  sql`((select received_at from quarantine where quarantine_id = ${id}::uuid and ${inScope(scope)}), ${id}::uuid)`;

function matching(scope: Scope, filter: QuarantineFilter, state: QuarantineState): Condition {
  const { reason } = filter;
  const conditions = receivedConditions(scope, filter);
  if (state === 'open') conditions.push(sql`resolution is null`);
  else if (state !== 'all') conditions.push(sql`resolution = ${state}`);
  if (reason !== undefined) conditions.push(sql`strpos(lower(reason), lower(${reason})) > 0`);
  return allOf(conditions);
}
