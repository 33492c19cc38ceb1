import { sql } from 'kysely';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, timeConditions } from './event-filter.ts';
import type { EventFilter, FamilyQuery } from './event-filter.ts';

/** Times from `since` (inclusive) to `until` (exclusive); without one of them, to the first or last event. */
export type TimeRange = Pick<EventFilter, 'since' | 'until'>;

/** The order of a page: by time, then by event id. */
export type EventOrder = 'newest' | 'oldest';

const HOUR_MS = 3_600_000;

/** How long stretches are, in milliseconds: the first, and none is longer. */
interface Lengths {
  readonly first: number;
  readonly longest: number;
}

/** Rows between those that match are read, so the first stretch is short; none reaches over many partitions. */
export const SCANNED: Lengths = { first: HOUR_MS, longest: 1_024 * HOUR_MS };

/** An index leads to the rows that match: a partition costs little, but not nothing. */
export const INDEXED: Lengths = { first: 768 * HOUR_MS, longest: Infinity };

/** Each stretch is so many times as long as the one before it. */
const GROWTH = 4;

/** What is left of a range is one stretch if it is not longer than so many of the next. */
const REST = 5;

/** Within a range of this length, events are not far. */
const SHORT_MS = 1_024 * HOUR_MS;

/** No event is stored beyond these times, and Postgres reads no time that is far beyond. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Divides a time range into stretches, in order, each begun where there are events: who has found enough stops after a
 * few short ones, and no partition behind them was touched. Gaps, however long, take one query.
 */
export async function* timeStretches(
  db: Db,
  queries: readonly Pick<FamilyQuery, 'family'>[],
  range: TimeRange,
  order: EventOrder,
  { first, longest }: Lengths,
): AsyncGenerator<TimeRange> {
  let rest = range;
  for (let length = first; ; length = Math.min(length * GROWTH, longest)) {
    const edge = isShort(rest) ? nearEnd(rest, order) : await firstTime(db, queries, rest, order);
    if (edge === undefined) return;
    const isNewest = order === 'newest';
    const limit: Date | undefined = isNewest ? rest.since : rest.until;
    const end = endOf(edge.getTime(), isNewest ? -length : length, limit);
    // A time that Postgres keeps to the microsecond is read to the millisecond.
    yield isNewest ? { since: end, until: new Date(edge.getTime() + 1) } : { since: edge, until: end };
    if (end === limit) return;
    rest = isNewest ? { since: limit, until: end } : { since: end, until: limit };
  }
}

function isShort({ since, until }: TimeRange): boolean {
  if (since === undefined || until === undefined) return false;
  const length = until.getTime() - since.getTime();
  return length > 0 && length <= SHORT_MS;
}

/** The last time of a range, or its first. */
function nearEnd({ since, until }: TimeRange, order: EventOrder): Date | undefined {
  return order === 'newest' ? until && new Date(until.getTime() - 1) : since;
}

/** Where a stretch ends that goes so far from its edge: at the range's other end if that is near. */
function endOf(edge: number, length: number, end: Date | undefined): Date | undefined {
  const reached = edge + length;
  const isNear = end !== undefined && Math.abs(end.getTime() - edge) <= REST * Math.abs(length);
  return isNear || reached < FIRST_TIME || reached > LAST_TIME ? end : new Date(reached);
}

/** Divides a range that has two ends into equal parts. */
export function divide({ since, until }: TimeRange, parts: number): readonly TimeRange[] {
  if (since === undefined || until === undefined) return [{ since, until }];
  const at = (index: number) =>
    new Date(Math.floor(since.getTime() + ((until.getTime() - since.getTime()) * index) / parts));
  return Array.from({ length: parts }, (_, index) => ({ since: at(index), until: at(index + 1) }));
}

/** The time of the first event in this order. */
async function firstTime(
  db: Db,
  queries: readonly Pick<FamilyQuery, 'family'>[],
  range: TimeRange,
  order: EventOrder,
): Promise<Date | undefined> {
  const direction = order === 'newest' ? sql`desc` : sql`asc`;
  const parts = queries.map(
    ({ family }) => sql`(select occurred_at from ${sql.table(TABLE_OF[family])}
      where ${allOf(timeConditions(range))} order by occurred_at ${direction} limit 1)`,
  );
  if (parts.length === 0) return undefined;
  const { rows } = await sql<{ occurred_at: Date }>`
    select * from (${sql.join(parts, sql` union all `)}) as firsts
    order by occurred_at ${direction} limit 1`.execute(db);
  return rows[0]?.occurred_at;
}
