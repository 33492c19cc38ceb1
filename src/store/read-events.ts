import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { FAMILIES, FAMILY_OF, MESSAGE_TYPES } from '../domain.ts';
import type { Family, MessageType, Origin } from '../domain.ts';
import { isJsonObject, parseExactJson } from '../exact-json.ts';
import type { JsonObject } from '../exact-json.ts';
import { FIELDS, TABLE_OF } from '../message-types.ts';
import type { Field } from '../message-types.ts';
import type { Db } from './database.ts';
import type { StoredPosition } from './search-events.ts';

/** One stored event, whole: the envelope, the typed columns, the record as sent. */
export interface StoredEvent extends StoredPosition {
  readonly eventId: string;
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType;
  readonly family: Family;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly occurredAt: string;
  readonly receivedAt: string;
  readonly ownerId: string | null;
  readonly orgId: string | null;
  readonly origin: Origin;
  /** The message type's typed columns by name, as text (times in ISO 8601); null where the record says nothing. */
  readonly columns: Readonly<Record<string, string | readonly string[] | null>>;
  /** The record as sent, every digit kept (exact-json.ts). */
  readonly payload: JsonObject;
}

/** A stretch of the stored events: those of the families that were asked for, in order, up to its end. */
export interface Stretch {
  /** Made one by one as they are asked for: many at a stretch would hold up answers. */
  readonly events: Iterable<StoredEvent>;
  /** The place of the last event of any family in the stretch; undefined when nothing was stored after the position. */
  readonly end: StoredPosition | undefined;
}

/**
 * The next `limit` events after a position, in the order of storing, below the oldest transaction that is still open:
 * ids are given out before their transactions commit, so a plain "id greater than" would skip rows.
 */
export async function readStretch(
  db: Db,
  position: StoredPosition,
  limit: number,
  families: readonly Family[],
): Promise<Stretch> {
  const end = await endOfStretch(db, position, limit);
  if (end === undefined) return { events: [], end };
  const rows = await Promise.all(families.map((family) => readFamily(db, family, position, end)));
  return { events: toEvents(rows.flat().toSorted(byPosition)), end };
}

function* toEvents(rows: readonly Row[]): Generator<StoredEvent> {
  for (const row of rows) yield toEvent(row);
}

/** One event by its identity; undefined when retention has dropped it. */
export async function readEvent(
  db: Db,
  messageType: MessageType,
  occurredAt: Date,
  eventId: string,
): Promise<StoredEvent | undefined> {
  const [row] = await selectRows(
    db,
    FAMILY_OF[messageType],
    // The time is known to the millisecond, and finds the partition.
    sql`occurred_at >= ${occurredAt} and occurred_at < ${occurredAt}::timestamptz + interval '1 millisecond'
      and event_id = ${eventId}::uuid`,
  );
  return row && toEvent(row);
}

/** The place just before the first event that was received at or after a time; the end when there is none. */
export async function positionBefore(db: Db, time: Date): Promise<StoredPosition> {
  const firsts = FAMILIES.map(
    (family) => sql`(select xid, id from ${sql.table(TABLE_OF[family])}
      where received_at >= ${time} order by xid, id limit 1)`,
  );
  const { rows } = await sql<StoredPosition>`
    with firsts as (${sql.join(firsts, sql` union all `)}),
         ends as (select * from firsts union all select pg_snapshot_xmin(pg_current_snapshot()), 1::bigint)
    select xid::text, (id - 1)::text as id from ends order by ends.xid, ends.id limit 1`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new TypeError('the end is always a position');
  return row;
}

async function endOfStretch(
  db: Db,
  position: StoredPosition,
  limit: number,
): Promise<StoredPosition | undefined> {
  const places = FAMILIES.map(
    (family) => sql`(select xid, id from ${sql.table(TABLE_OF[family])}
      where ${isAfter(position)} and xid < pg_snapshot_xmin(pg_current_snapshot())
      order by xid, id limit ${limit})`,
  );
  const { rows } = await sql<StoredPosition>`
    with places as (${sql.join(places, sql` union all `)}),
         stretch as (select * from places order by xid, id limit ${limit})
    select xid::text, id::text from stretch order by stretch.xid desc, stretch.id desc limit 1`.execute(db);
  return rows[0];
}

const isAfter = ({ xid, id }: StoredPosition) => sql`(xid, id) > (${xid}::xid8, ${id}::bigint)`;

function readFamily(
  db: Db,
  family: Family,
  after: StoredPosition,
  end: StoredPosition,
): Promise<readonly Row[]> {
  return selectRows(
    db,
    family,
    sql`${isAfter(after)} and (xid, id) <= (${end.xid}::xid8, ${end.id}::bigint)`,
  );
}

interface Row extends Omit<StoredEvent, 'columns' | 'payload' | 'family'> {
  readonly payload: string;
  /** The family's typed columns, in the order of `COLUMNS_OF`. */
  readonly [column: `c${number}`]: string | string[] | null;
}

async function selectRows(db: Db, family: Family, condition: RawBuilder<unknown>): Promise<readonly Row[]> {
  const columns = COLUMNS_OF[family];
  const typed = columns.map((field, index) => sql`${asText(field)} as ${sql.ref(`c${index}`)}`);
  const { rows } = await sql<Row>`
    select xid::text, id::text, event_id as "eventId", delivery_id as "deliveryId", source,
           message_type as "messageType", ${isoTime('occurred_at')} as "occurredAt",
           ${isoTime('received_at')} as "receivedAt", owner_id::text as "ownerId", org_id::text as "orgId",
           origin, payload::text as payload, ${sql.join(typed)}
    from ${sql.table(TABLE_OF[family])} where ${condition}`.execute(db);
  return rows;
}

function asText({ column, kind }: Field): RawBuilder<unknown> {
  switch (kind) {
    case 'timestamptz':
      return isoTime(column);
    case 'inet':
      // A cast to text would write the mask of a single host, too.
      return sql`abbrev(${sql.ref(column)})`;
    case 'key[]':
    case 'bigint[]':
      return sql`${sql.ref(column)}::text[]`;
    case 'text':
    case 'key':
    case 'bigint':
    case 'double precision':
    case 'macaddr':
    case 'jsonb':
      return sql`${sql.ref(column)}::text`;
  }
}

const isoTime = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Every typed column of a family's table, once. */
const COLUMNS_OF: Readonly<Record<Family, readonly Field[]>> = {
  audit: columnsOf('audit'),
  location: columnsOf('location'),
  log: columnsOf('log'),
};

function columnsOf(family: Family): readonly Field[] {
  const fields = MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === family).flatMap((type) => FIELDS[type]);
  return [...new Map(fields.map((field) => [field.column, field])).values()];
}

/** Where the columns of a message type stand among those of its family. */
const PLACES: ReadonlyMap<MessageType, readonly (readonly [string, `c${number}`])[]> = new Map(
  MESSAGE_TYPES.map((type) => {
    const names = COLUMNS_OF[FAMILY_OF[type]].map(({ column }) => column);
    return [type, FIELDS[type].map(({ column }) => [column, `c${names.indexOf(column)}` as const] as const)];
  }),
);

function toEvent(row: Row): StoredEvent {
  const payload = parseExactJson(row.payload);
  if (!isJsonObject(payload)) throw new TypeError(`event ${row.eventId}: its payload is not a JSON object`);
  const { xid, id, eventId, deliveryId, source, messageType, occurredAt, receivedAt } = row;
  const { ownerId, orgId, origin } = row;
  const columns: Record<string, string | readonly string[] | null> = {};
  for (const [name, place] of PLACES.get(messageType) ?? []) columns[name] = row[place] ?? null;
  return {
    xid,
    id,
    eventId,
    deliveryId,
    source,
    messageType,
    family: FAMILY_OF[messageType],
    occurredAt,
    receivedAt,
    ownerId,
    orgId,
    origin,
    columns,
    payload,
  };
}

const byPosition = (a: StoredPosition, b: StoredPosition) =>
  compare(BigInt(a.xid), BigInt(b.xid)) || compare(BigInt(a.id), BigInt(b.id));

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
