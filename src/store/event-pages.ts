import { sql } from 'kysely';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, isIndexed, timeConditions } from './event-filter.ts';
import type { Condition, EventFilter, FamilyQuery } from './event-filter.ts';
import { selectRows } from './event-rows.ts';
import type { StoredRow } from './event-rows.ts';
import { INDEXED, SCANNED, timeStretches } from './time-stretches.ts';
import type { EventOrder, TimeRange } from './time-stretches.ts';

/** Where a page ended: the next one begins behind it. Times are stored to the millisecond. */
export interface EventPosition {
  readonly occurredAt: Date;
  readonly eventId: string;
}

/** Which part of the events that match. */
export interface EventPage {
  readonly limit: number;
  /** The page begins behind this place. */
  readonly after?: EventPosition | undefined;
  /** What comes first; the newest when it is not said. */
  readonly order?: EventOrder | undefined;
}

/** Compares two rows by their places in pages: two ids of Postgres compare as their texts do. */
export const byTime = (order: EventOrder) => (a: StoredRow, b: StoredRow) => {
  if (a.eventId === b.eventId && a.occurredAt === b.occurredAt) return 0;
  const isBefore = a.occurredAt === b.occurredAt ? a.eventId < b.eventId : a.occurredAt < b.occurredAt;
  return isBefore === (order === 'oldest') ? -1 : 1;
};

/** A page whose order is said. */
export type OrderedPage = EventPage & {
  readonly order: EventOrder;
  /** The typed columns that are wanted; all when it is not said. */
  readonly columns?: ReadonlySet<string> | undefined;
};

/** The stretches of time in which to look for a page, in its order. */
export function stretchesOf(
  db: Db,
  queries: readonly FamilyQuery[],
  filter: EventFilter,
  { after, order }: Pick<OrderedPage, 'after' | 'order'>,
): AsyncGenerator<TimeRange> {
  const range = behind(filter, after, order);
  return timeStretches(db, queries, range, order, isIndexed(filter) ? INDEXED : SCANNED);
}

/** What is left of a time range behind a position: partitions and indexes by time are told no more than that. */
function behind({ since, until }: TimeRange, after: EventPosition | undefined, order: EventOrder): TimeRange {
  if (after === undefined) return { since, until };
  const { occurredAt } = after;
  if (order === 'oldest') return { since: since && since > occurredAt ? since : occurredAt, until };
  const end = new Date(occurredAt.getTime() + 1);
  return { since, until: until && until < end ? until : end };
}

/** The rows of one family that match, one page. */
export function selectPage(
  db: Db,
  { family, conditions, branches }: FamilyQuery,
  range: TimeRange,
  { limit, after, order, columns }: OrderedPage,
): Promise<readonly StoredRow[]> {
  const always = [...conditions, ...timeConditions(behind(range, after, order)), ...isBehind(after, order)];
  const ordered = sql`order by ${orderColumns(order)} limit ${limit}`;
  const parts = branches.map(({ condition, isOrdered }) => {
    const rows = sql`select * from ${sql.table(TABLE_OF[family])} where ${allOf([...always, condition])}`;
    // Without the offset Postgres might walk all of the time range in its order, and filter.
    return isOrdered
      ? sql`(${rows} ${ordered})`
      : sql`(select * from (${rows} offset 0) as found ${ordered})`;
  });
  return selectRows(db, family, sql`(${sql.join(parts, sql` union all `)}) as found ${ordered}`, columns);
}

function orderColumns(order: EventOrder) {
  return order === 'newest' ? sql`occurred_at desc, event_id desc` : sql`occurred_at, event_id`;
}

function isBehind(after: EventPosition | undefined, order: EventOrder): readonly Condition[] {
  if (after === undefined) return [];
  const place = sql`(${after.occurredAt}::timestamptz, ${after.eventId}::uuid)`;
  return order === 'newest'
    ? [sql`(occurred_at, event_id) < ${place}`]
    : [sql`(occurred_at, event_id) > ${place}`];
}
