import { sql } from 'kysely';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, familyQueries, timeConditions } from './event-filter.ts';
import type { EventFilter, FamilyQuery } from './event-filter.ts';
import { byTime, selectPage, stretchesOf } from './event-pages.ts';
import type { EventPage } from './event-pages.ts';
import { selectRows, toEvent } from './event-rows.ts';
import type { StoredRow } from './event-rows.ts';
import { byPosition } from './read-events.ts';
import type { StoredEvent } from './read-events.ts';
import { divide } from './time-stretches.ts';

export type { EventFilter } from './event-filter.ts';

export type { EventPage, EventPosition } from './event-pages.ts';

/** A day of text is looked through in this many parts at once, so that it takes all the processors there are. */
const PARTS_AT_ONCE = 4;

/**
 * Events that match, one page: it costs the same however far back the position lies. Throws what Postgres says to
 * a code, an organization or a MAC address that is none.
 */
export async function searchEvents(db: Db, filter: EventFilter, page: EventPage): Promise<StoredEvent[]> {
  const order = page.order ?? 'newest';
  const queries = familyQueries(filter);
  const found: StoredRow[] = [];
  for await (const stretch of stretchesOf(db, queries, filter, { ...page, order })) {
    const limit = page.limit - found.length;
    const parts = filter.text === undefined ? [stretch] : divide(stretch, PARTS_AT_ONCE);
    const rows = await Promise.all(
      parts.flatMap((part) =>
        queries.map((query) => selectPage(db, query, part, { limit, after: page.after, order })),
      ),
    );
    found.push(...rows.flat().toSorted(byTime(order)).slice(0, limit));
    if (found.length >= page.limit) break;
  }
  return found.map(toEvent);
}

/** A place in the order in which events were stored. */
export interface StoredPosition {
  /** Transaction, then id within it. */
  readonly xid: string;
  readonly id: string;
}

/** The place behind everything stored so far. */
export async function endOfEvents(db: Db): Promise<StoredPosition> {
  const { rows } = await sql<{ xid: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as xid`.execute(db);
  return { xid: rows[0]?.xid ?? '0', id: '0' };
}

/**
 * Events stored after a position that match, in the order of storing. It reads only below the oldest transaction
 * that is still open: ids are given out before their transactions commit, so a plain "id greater than" misses rows.
 */
export async function eventsStoredAfter(
  db: Db,
  filter: EventFilter,
  position: StoredPosition,
  limit: number,
): Promise<StoredEvent[]> {
  // One end for all families: each query sees the tables at a moment of its own, and what a later one saw beyond the
  // moment of an earlier one would let the next read begin behind rows that nobody has seen.
  const end = await endOfEvents(db);
  const rows = await Promise.all(
    familyQueries(filter).map((query) => selectStored(db, query, filter, { after: position, end, limit })),
  );
  return rows.flat().toSorted(byPosition).slice(0, limit).map(toEvent);
}

interface StoredRange {
  readonly after: StoredPosition;
  readonly end: StoredPosition;
  readonly limit: number;
}

function selectStored(
  db: Db,
  { family, conditions, branches }: FamilyQuery,
  filter: EventFilter,
  { after: { xid, id }, end, limit }: StoredRange,
): Promise<readonly StoredRow[]> {
  const anyBranch = sql.join(
    branches.map(({ condition }) => sql`(${condition})`),
    sql` or `,
  );
  return selectRows(
    db,
    family,
    sql`(
      select * from ${sql.table(TABLE_OF[family])}
      where ${allOf([...conditions, ...timeConditions(filter)])} and (${anyBranch})
        and (xid, id) > (${xid}::xid8, ${id}::bigint) and xid < ${end.xid}::xid8
      order by xid, id limit ${limit}
    ) as found`,
  );
}
