import { sql } from 'kysely';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { allOf, unionAll, type Condition } from '../server/condition.ts';
import { timeConditions, type EventFilter, type FamilyQuery } from './event-filter.ts';
import { selectRows, type FirstRows, type StoredRow } from './event-rows.ts';
import { areIndexed } from './search-terms.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { INDEXED, SCANNED, timeSlices, type EventOrder } from '../partitions/time-slices.ts';

/** The last event of a page, after which the next page begins. Times are stored to the millisecond. */
export interface EventPosition {
  readonly occurredAt: Date;
  readonly eventId: string;
}

export interface EventPage {
  readonly limit: number;
  readonly after?: EventPosition | undefined;
  /** The default is newest first. */
  readonly order?: EventOrder | undefined;
}

/** Compares two rows by their positions in pages. UUIDs compare in Postgres as their texts do. */
export const byTime = (order: EventOrder) => (a: StoredRow, b: StoredRow) => {
  if (a.eventId === b.eventId && a.occurredAt === b.occurredAt) return 0;
  const isBefore = a.occurredAt === b.occurredAt ? a.eventId < b.eventId : a.occurredAt < b.occurredAt;
  return isBefore === (order === 'oldest') ? -1 : 1;
};

export type OrderedPage = EventPage & {
  readonly order: EventOrder;
  /** The typed columns to read; the default is all. */
  readonly columns?: ReadonlySet<string> | undefined;
};

/** The slices of time to search for a page, in its order. */
export function slicesToSearch(
  db: Db,
  queries: readonly FamilyQuery[],
  filter: EventFilter,
  { after, order }: Pick<OrderedPage, 'after' | 'order'>,
): AsyncGenerator<TimeRange> {
  const range = behind(filter, after, order);
  return timeSlices(db, queries, range, order, areIndexed(filter.terms ?? []) ? INDEXED : SCANNED);
}

/** The rest of a time range after a position, so that only its partitions and index entries are read. */
function behind({ since, until }: TimeRange, after: EventPosition | undefined, order: EventOrder): TimeRange {
  if (after === undefined) return { since, until };
  const { occurredAt } = after;
  if (order === 'oldest') return { since: since && since > occurredAt ? since : occurredAt, until };
  const end = new Date(occurredAt.getTime() + 1);
  return { since, until: until && until < end ? until : end };
}

/** One page of the matching rows of one family. It has fewer rows if its payloads are too long to be read together. */
export function selectPage(
  db: Db,
  { family, conditions, branches, isOrdered }: FamilyQuery,
  range: TimeRange,
  { limit, after, order, columns }: OrderedPage,
): Promise<FirstRows> {
  const always = [...conditions, ...timeConditions(behind(range, after, order)), ...isBehind(after, order)];
  const inOrder = sql`order by ${orderColumns(order)}`;
  const ordered = sql`${inOrder} limit ${limit}`;
  const parts = branches.map((branch) => {
    const rows = sql`select * from ${sql.table(TABLE_OF[family])} where ${allOf([...always, branch])}`;
    // Without the offset, Postgres might read the whole time range in order, and filter.
    return isOrdered
      ? sql`(${rows} ${ordered})`
      : sql`(select * from (${rows} offset 0) as found ${ordered})`;
  });
  return selectRows(
    db,
    family,
    sql`(select * from (${unionAll(parts)}) as found ${ordered}) as page`,
    inOrder,
    columns,
  );
}

function orderColumns(order: EventOrder) {
  return order === 'newest' ? sql`occurred_at desc, event_id desc` : sql`occurred_at, event_id`;
}

function isBehind(after: EventPosition | undefined, order: EventOrder): readonly Condition[] {
  if (after === undefined) return [];
  const place = sql`(${after.occurredAt}::timestamptz, ${after.eventId}::uuid)`;
  return [sql`(occurred_at, event_id) ${order === 'newest' ? sql`<` : sql`>`} ${place}`];
}
