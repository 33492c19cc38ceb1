import { sql } from 'kysely';
import { FAMILIES, FAMILY_OF } from '../domain.ts';
import type { Family, MessageType, Origin } from '../domain.ts';
import type { JsonObject } from '../exact-json.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { selectRows, toEvent } from './event-rows.ts';
import type { StoredRow } from './event-rows.ts';
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

function* toEvents(rows: readonly StoredRow[]): Generator<StoredEvent> {
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
    sql`${sql.table(TABLE_OF[FAMILY_OF[messageType]])}
      where occurred_at >= ${occurredAt} and occurred_at < ${occurredAt}::timestamptz + interval '1 millisecond'
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
): Promise<readonly StoredRow[]> {
  return selectRows(
    db,
    family,
    sql`${sql.table(TABLE_OF[family])}
      where ${isAfter(after)} and (xid, id) <= (${end.xid}::xid8, ${end.id}::bigint)`,
  );
}

/** The order of storing. */
export const byPosition = (a: StoredPosition, b: StoredPosition) =>
  compare(BigInt(a.xid), BigInt(b.xid)) || compare(BigInt(a.id), BigInt(b.id));

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);
