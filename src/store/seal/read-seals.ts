import { sql } from 'kysely';
import { FAMILIES } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { unionAll } from '../server/condition.ts';
import { LATE_AFTER } from '../reconcile/gaps.ts';
import type { Db } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { allRows, firstRow, onlyRow } from '../server/statement.ts';

/** Consecutive leaves of the tree: those of consecutive events, or of statements. */
export interface SealRun {
  readonly firstLeaf: number;
  readonly leaves: number;
  /** Null: they are of statements. */
  readonly firstPosition: number | null;
  /** Version of the sealed form of the rows. */
  readonly version: number;
}

/** Runs that are read at once: statements between events make about two a minute. */
const RUNS_AT_ONCE = 10_000;

/** Reads which leaves are of what, in the order of the tree, some at a time. */
export async function* readRuns(db: Db): AsyncGenerator<SealRun> {
  for (let above = -1, isMore = true; isMore;) {
    const rows = await db
      .selectFrom('log_seals')
      .select((eb) => [
        eb.cast<number>('first_leaf', 'float8').as('firstLeaf'),
        eb.cast<number>('leaves', 'float8').as('leaves'),
        eb.cast<number | null>('first_position', 'float8').as('firstPosition'),
        'version',
      ])
      .where('first_leaf', '>', String(above))
      .orderBy('first_leaf')
      .limit(RUNS_AT_ONCE)
      .execute();
    yield* rows;
    above = rows.at(-1)?.firstLeaf ?? above;
    isMore = rows.length === RUNS_AT_ONCE;
  }
}

/** Reads which of the leaves from one up to, and without, another are of what. */
export async function readRunsBetween(db: Db, from: number, to: number): Promise<readonly SealRun[]> {
  return allRows<SealRun>(db)`
    select greatest(first_leaf, ${from}::bigint)::float8 as "firstLeaf",
      (least(first_leaf + leaves, ${to}::bigint) - greatest(first_leaf, ${from}::bigint))::float8 as leaves,
      (first_position + greatest(0, ${from}::bigint - first_leaf))::float8 as "firstPosition", version
    from log_seals
    where first_leaf >= coalesce((select max(first_leaf) from log_seals where first_leaf <= ${from}::bigint), 0)
      and first_leaf < ${to}::bigint and first_leaf + leaves > ${from}::bigint
    order by log_seals.first_leaf`;
}

/** Reads the leaf of the event at a position, and the version of its sealed form; undefined while it is not sealed. */
export async function leafOf(db: Db, position: number) {
  return firstRow<{ leaf: number; version: number }>(db)`
    select (first_leaf + ${position}::bigint - first_position)::float8 as leaf, version from log_seals
    where first_position <= ${position}::bigint and first_position + leaves > ${position}::bigint`;
}

/**
 * When the first event was stored that is not in the first `signed` leaves of the tree, sealed or not; undefined if all are.
 * Where its delivery is gone, it is the time when the event was received, and where the event is gone, that of those beside it.
 */
export async function firstUnsignedAt(db: Db, signed: number): Promise<Date | undefined> {
  const event = await firstRow<{ id: string | null; at: string | null; received: Date }>(db)`
    with next as (
      select coalesce(
        (select min(first_position + greatest(0, ${signed}::bigint - first_leaf)) from log_seals
          where first_position is not null and first_leaf + leaves > ${signed}::bigint
            and first_leaf >= coalesce((select max(first_leaf) from log_seals where first_leaf <= ${signed}::bigint), 0)),
        (select next_position from log_seal_state)) as position)
    select event_ids[position - first + 1] as id, occurred_at[position - first + 1]::text as at, received_to as received
    from next join log_tiles on first = (select max(first) from log_tiles where first <= position)
    where position < first + cardinality(kinds)`;
  if (event === undefined) return undefined;
  const stored = await firstRow<{ at: Date }>(db)`
    select coalesce(stored_at, events.received_at) as at from events left join deliveries using (delivery_id, received_at)
    where event_id = ${event.id}::uuid and occurred_at = ${event.at}::timestamptz`;
  return stored?.at ?? event.received;
}

const TILE_LEAVES = 256;
const HASH_BYTES = 32;
const SALT_BYTES = 16;

interface Piece {
  readonly number: number;
  readonly bytes: Buffer;
}

/** The bytes of leaves from a number of tiles; zeros where a tile or a part of it is missing. */
function joined(pieces: readonly Piece[], from: number, to: number, width: number): Buffer {
  const all = Buffer.alloc((to - from) * width);
  for (const { number, bytes } of pieces) {
    const skipped = Math.max(0, from - number * TILE_LEAVES) * width;
    const at = Math.max(0, number * TILE_LEAVES - from) * width;
    bytes.subarray(0, TILE_LEAVES * width).copy(all, at, skipped);
  }
  return all;
}

const isOfTiles = (from: number, to: number) =>
  sql<boolean>`number between ${Math.floor(from / TILE_LEAVES)}::bigint and ${Math.floor((to - 1) / TILE_LEAVES)}::bigint`;

/** The hashes of leaves from one up to, and without, another; zeros for those that are missing. */
export async function readLeafHashes(db: Db, from: number, to: number): Promise<Buffer> {
  const rows = await db
    .selectFrom('log_hashes')
    .select((eb) => [eb.cast<number>('number', 'float8').as('number'), 'hashes as bytes'])
    .where('level', '=', 0)
    .where(isOfTiles(from, to))
    .execute();
  return joined(rows, from, to, HASH_BYTES);
}

/** Counts the tiles of leaves that are stored. */
export async function countLeafTiles(db: Db): Promise<number> {
  const { tiles } = await db
    .selectFrom('log_hashes')
    .select((eb) => eb.cast<number>(eb.fn.countAll(), 'float8').as('tiles'))
    .where('level', '=', 0)
    .executeTakeFirstOrThrow();
  return tiles;
}

/** The salts of leaves from one up to, and without, another; zeros for those that are missing. */
export async function readSalts(db: Db, from: number, to: number): Promise<Buffer> {
  const rows = await allRows<Piece>(db)`
    select number::float8, string_agg(coalesce(salt, decode(repeat('00', ${SALT_BYTES}::int), 'hex')), ''::bytea order by place) as bytes
    from log_salts, unnest(salts) with ordinality as one (salt, place) where ${isOfTiles(from, to)} group by number`;
  return joined(rows, from, to, SALT_BYTES);
}

/** Whether a row was received in a time range. */
export const wasReceived = (range: TimeRange) =>
  sql`received_at >= ${range.since ?? '-infinity'}::timestamptz
  and received_at < ${range.until ?? 'infinity'}::timestamptz`;

export interface StrayEvent {
  readonly eventId: string;
  readonly occurredAt: Date;
  readonly receivedAt: Date;
  readonly source: string;
}

/**
 * The sequencer will still take the row: a later transaction of this server stored it, or it waits for events that were
 * received before it. After a move, the server's ids say nothing yet.
 */
const IS_WAITING = sql`(xid >= next_xid and id > earlier_id
    and (xid >= held_xid or received_at > last_received)
    and (xid < pg_snapshot_xmax(pg_current_snapshot())
      or server <> (select system_identifier from pg_control_system())::text))`;

/** Counts the events that the sequencer will still take. `since`: when the first of them was stored. */
export async function countWaiting(db: Db, scope: Scope, filter: TimeRange) {
  const waiting = FAMILIES.map(
    (family) => sql`
      select delivery_id, received_at from ${sql.table(TABLE_OF[family])} cross join log_state
      where ${IS_WAITING} and ${wasReceived(filter)} and ${inScope(scope)}`,
  );
  return onlyRow<{ count: number; since: Date | null }>(db)`
    select count(*)::float8 as count, min(coalesce(stored_at, received_at)) as since
    from (${unionAll(waiting)}) as waiting left join deliveries using (delivery_id, received_at)`;
}

/**
 * Finds events of a table that are not in the log as they are, and that the sequencer does not take: this program has not
 * stored them. `isEntry` may say more of the entry that an event must have, `entry`.
 */
export async function findStrayEvents(
  db: Db,
  table: string,
  scope: Scope,
  filter: TimeRange,
  isEntry = sql`true`,
) {
  return allRows<StrayEvent>(db)`
    select row.event_id as "eventId", row.occurred_at as "occurredAt", row.received_at as "receivedAt", row.source
    from ${sql.table(table)} as row cross join log_state
    where not ${IS_WAITING} and ${wasReceived(filter)} and ${inScope(scope)}
      and not exists (
        select from (
          select first, received_from, received_to, number, event_id, one.occurred_at, source, message_type
          from log_tiles, unnest(event_ids, log_tiles.occurred_at, kinds) with ordinality as one (event_id, occurred_at, kind, number)
            join log_kinds using (kind)
        ) as entry
        where entry.event_id = row.event_id and entry.occurred_at = row.occurred_at
          and entry.source = row.source and entry.message_type = row.message_type
          and row.received_at between entry.received_from and entry.received_to
          and entry.first + entry.number - 1 between first_position and next_position - 1 and ${isEntry})`;
}

/** A delivery whose counts differ from the rows. */
export interface MiscountedDelivery {
  readonly deliveryId: string;
  readonly receivedAt: Date;
  readonly source: string;
  /** Null: there are events of it, and not itself. */
  readonly counts: {
    readonly expected: number;
    readonly events: number;
    readonly duplicates: number;
    readonly quarantined: number;
  } | null;
  /** Rows that the tables have. */
  readonly found: number;
}

/**
 * Compares the counts of deliveries with each other and with the rows of their events, erased ones included. What erasures
 * say may have been changed to anything, which is found by itself. Fewer rows than counted are no difference where retention
 * has dropped events of the type that the delivery may have brought: of its time, or late ones of any time; nor where files of
 * the archive may have them, which are compared with their leaves.
 */
export async function findMiscounted(db: Db, scope: Scope, filter: TimeRange) {
  const events = FAMILIES.map(
    (family) => sql`select delivery_id, received_at, source from ${sql.table(TABLE_OF[family])}`,
  );
  return allRows<MiscountedDelivery>(db)`
    select delivery_id as "deliveryId", received_at as "receivedAt", source, coalesce(found, 0)::float8 as found,
      case when expected_count is not null then json_build_object('expected', expected_count, 'events', event_count,
        'duplicates', duplicate_count, 'quarantined', quarantined_count) end as counts
    from (
      select delivery_id, found, message_type, origin, coalesce(deliveries.received_at, first_received) as received_at,
        coalesce(deliveries.source, counted.source) as source, expected_count, event_count, duplicate_count, quarantined_count
      from deliveries full join (
        select delivery_id, count(*) as found, min(received_at) as first_received, min(source) as source
        from (${unionAll(events)}) as events group by delivery_id
      ) as counted using (delivery_id)
    ) as deliveries
    left join (
      select key, sum(case jsonb_typeof(value) when 'number' then value::numeric end) as erased
      from erasures, jsonb_each(
        case jsonb_typeof(erasures.deliveries) when 'object' then erasures.deliveries else '{}' end) group by key
    ) as erasures on erasures.key = delivery_id::text
    where ${wasReceived(filter)} and ${inScope(scope)} and (
      expected_count is null or expected_count <> event_count + duplicate_count + quarantined_count
      or coalesce(found, 0) + coalesce(erased, 0) > event_count
      or coalesce(found, 0) + coalesce(erased, 0) < event_count and not exists (
        select from gaps where reason = 'retention' and gaps.message_type = deliveries.message_type
          and (origin = 'backfill' or received_at < ended_at + ${LATE_AFTER}
            or received_at < recorded_at and (detail -> 'has_late') is not null))
        and not exists (
          select from archived_files as file where archived_at is not null and removed_at is null
            and file.source = deliveries.source and file.message_type = deliveries.message_type
            and received_at between first_received_at and last_received_at))
    order by received_at`;
}
