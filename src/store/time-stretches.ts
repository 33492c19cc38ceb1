import { sql } from 'kysely';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, timeConditions } from './event-filter.ts';
import type { EventFilter, FamilyQuery } from './event-filter.ts';
import type { EventOrder } from './event-pages.ts';

/** Times from `since` (inclusive) to `until` (exclusive); without one of them, to the first or last event. */
export type TimeRange = Pick<EventFilter, 'since' | 'until'>;

const FIRST_STRETCH_MS = 3_600_000;

/** Each stretch is so many times as long as the one before it. */
const GROWTH = 4;

/** Longer ones would reach over too many partitions. */
const LONGEST_STRETCH_MS = 1_024 * FIRST_STRETCH_MS;

/**
 * Divides a time range into stretches, in order, each begun where there are events: who has found enough stops after a
 * few short ones, and no partition behind them was touched. Gaps, however long, take one query.
 */
export async function* timeStretches(
  db: Db,
  queries: readonly Pick<FamilyQuery, 'family'>[],
  range: TimeRange,
  order: EventOrder,
): AsyncGenerator<TimeRange> {
  let rest = range;
  for (let length = FIRST_STRETCH_MS; ; length = Math.min(length * GROWTH, LONGEST_STRETCH_MS)) {
    const edge = await firstTime(db, queries, rest, order);
    if (edge === undefined) return;
    const stretch = stretchFrom(edge, length, rest, order);
    yield stretch;
    rest = order === 'newest' ? { ...rest, until: stretch.since } : { ...rest, since: stretch.until };
  }
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

function stretchFrom(edge: Date, length: number, range: TimeRange, order: EventOrder): TimeRange {
  if (order === 'newest') {
    const since = Math.max(edge.getTime() - length, range.since?.getTime() ?? -Infinity);
    // A time that Postgres keeps to the microsecond is read to the millisecond.
    return { since: new Date(since), until: new Date(edge.getTime() + 1) };
  }
  const until = Math.min(edge.getTime() + length, range.until?.getTime() ?? Infinity);
  return { since: edge, until: new Date(until) };
}
