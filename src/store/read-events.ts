import { sql } from 'kysely';
import { FAMILIES } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, familyQueries, timeConditions, type EventFilter, type FamilyQuery } from './event-filter.ts';
import { selectRows, toEvent, type StoredRow } from './event-rows.ts';
import { readHorizon } from './horizon.ts';
import type { Scope } from './scope.ts';
import { byPosition, type StoredEvent, type StoredPosition } from './stored-event.ts';

/** A stretch of the stored events: in the order of storing, those that match a filter. */
export interface Stretch {
  /** Can be iterated once. Each event is made when it is asked for: all at once would delay the ingest answers. */
  readonly events: Iterable<StoredEvent>;
  /** The position of the last event of the stretch, matching or not; undefined when the stretch is empty. */
  readonly end: StoredPosition | undefined;
  /** Whether the stretch is as long as the limit allows: more events may follow at once. */
  readonly isFull: boolean;
}

/**
 * Reads the next `limit` events after a position, in the order of storing, and returns those that match the filter.
 * Reading goes on at `end`, also when no event matched. Events above the horizon are left for later: ids are
 * assigned before their transactions commit, so a plain "id greater than" would miss rows.
 */
export async function readStretch(
  db: Db,
  scope: Scope,
  position: StoredPosition,
  limit: number,
  filter: EventFilter = {},
): Promise<Stretch> {
  // One end for all families: each query reads its own snapshot, and a later one may see more than an earlier one.
  const { end, count } = await endOfStretch(db, position, limit);
  if (end === undefined) return { events: [], end, isFull: false };
  const range = sql`${isAfter(position)} and (xid, id) <= (${end.xid}::xid8, ${end.id}::bigint)`;
  const rows = await Promise.all(
    familyQueries(scope, filter).map((query) =>
      selectRows(
        db,
        query.family,
        sql`${sql.table(TABLE_OF[query.family])}
        where ${range} and ${allOf([...conditionsOf(query), ...timeConditions(filter)])}`,
      ),
    ),
  );
  return { events: toEvents(rows.flat().toSorted(byPosition)), end, isFull: count === limit };
}

function* toEvents(rows: readonly StoredRow[]): Generator<StoredEvent> {
  for (const row of rows) yield toEvent(row);
}

function conditionsOf({ conditions, branches }: FamilyQuery) {
  const anyBranch = sql.join(
    branches.map(({ condition }) => sql`(${condition})`),
    sql` or `,
  );
  return [...conditions, sql`(${anyBranch})`];
}

async function endOfStretch(
  db: Db,
  position: StoredPosition,
  limit: number,
): Promise<{ readonly end: StoredPosition | undefined; readonly count: number }> {
  const horizon = await readHorizon(db);
  const places = FAMILIES.map(
    (family) => sql`(select xid, id from ${sql.table(TABLE_OF[family])}
      where ${isAfter(position)} and xid < ${horizon}::xid8
      order by xid, id limit ${limit})`,
  );
  const { rows } = await sql<StoredPosition & { count: number }>`
    with places as (${sql.join(places, sql` union all `)}),
         stretch as (select * from places order by xid, id limit ${limit})
    select xid::text, id::text, (select count(*)::int from stretch) as count
    from stretch order by stretch.xid desc, stretch.id desc limit 1`.execute(db);
  const [row] = rows;
  return { end: row && { xid: row.xid, id: row.id }, count: row?.count ?? 0 };
}

const isAfter = ({ xid, id }: StoredPosition) => sql`(xid, id) > (${xid}::xid8, ${id}::bigint)`;

/** The position after everything stored so far. */
export async function endOfEvents(db: Db): Promise<StoredPosition> {
  return { xid: await readHorizon(db), id: '0' };
}

/** The position just before the first event received at or after a time; the end when there is none. */
export async function positionBefore(db: Db, time: Date): Promise<StoredPosition> {
  const horizon = await readHorizon(db);
  const firsts = FAMILIES.map(
    (family) => sql`(select xid, id from ${sql.table(TABLE_OF[family])}
      where received_at >= ${time} order by xid, id limit 1)`,
  );
  const { rows } = await sql<StoredPosition>`
    with firsts as (${sql.join(firsts, sql` union all `)}),
         ends as (select * from firsts union all select ${horizon}::xid8, 1::bigint)
    select xid::text, (id - 1)::text as id from ends order by ends.xid, ends.id limit 1`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new TypeError('the query for the end of the events returned no row');
  return row;
}
