import { sql } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { allOf, unionAll } from '../server/condition.ts';
import { timeConditions, type FamilyQuery } from '../events/event-filter.ts';
import { firstRow } from '../server/statement.ts';

/** The order of a page: by time, then by event id. */
export type EventOrder = 'newest' | 'oldest';

/** The lengths of slices in milliseconds: of the first, and of the longest. */
interface Lengths {
  readonly first: number;
  readonly longest: number;
}

/** Without an index, all rows are read: the first slice is short, and none spans many partitions. */
export const SCANNED: Lengths = { first: HOUR_MS, longest: 1_024 * HOUR_MS };

/** With an index, a partition costs little, but not nothing. */
export const INDEXED: Lengths = { first: 768 * HOUR_MS, longest: Infinity };

/** The factor by which each slice is longer than the one before. */
const GROWTH = 4;

/** The rest of a range becomes one slice if it is at most this many times as long as the next would be. */
const REST = 5;

/** A range up to this length is read without looking for its first event. */
const SHORT_MS = 1_024 * HOUR_MS;

/** No event is stored beyond these times, and Postgres rejects times far beyond them. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Divides a time range into slices, in order, each beginning at an event. A caller that has enough rows stops after a
 * few short slices, without touching the partitions after them. A gap of any length takes one query.
 */
export async function* timeSlices(
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
    const from = edge.getTime();
    const end = isNewest ? endOf(presentOf(from), -length, limit) : endOf(from, length, limit);
    // Postgres stores microseconds, and JavaScript reads milliseconds.
    yield isNewest ? { since: end, until: new Date(edge.getTime() + 1) } : { since: edge, until: end };
    if (end === limit) return;
    rest = isNewest ? { since: limit, until: end } : { since: end, until: limit };
  }
}

/**
 * A time of the next day counts as now: few events are ahead of the clock, and slices of their own would use up the time of a
 * search before it reaches the present.
 */
const presentOf = (time: number, now = Date.now()) => (time - now <= DAY_MS ? Math.min(time, now) : time);

function isShort({ since, until }: TimeRange): boolean {
  if (since === undefined || until === undefined) return false;
  const length = until.getTime() - since.getTime();
  return length > 0 && length <= SHORT_MS;
}

/** The last time of a range, or its first. */
function nearEnd({ since, until }: TimeRange, order: EventOrder): Date | undefined {
  return order === 'newest' ? until && new Date(until.getTime() - 1) : since;
}

/** The end of a slice of this length: the range's own end if that is near. */
function endOf(edge: number, length: number, end: Date | undefined): Date | undefined {
  const reached = edge + length;
  const isNear = end !== undefined && Math.abs(end.getTime() - edge) <= REST * Math.abs(length);
  return isNear || reached < FIRST_TIME || reached > LAST_TIME ? end : new Date(reached);
}

/** Divides a range with two ends into equal parts. */
export function divide({ since, until }: TimeRange, parts: number): readonly TimeRange[] {
  if (since === undefined || until === undefined) return [{ since, until }];
  const at = (index: number) =>
    new Date(Math.floor(since.getTime() + ((until.getTime() - since.getTime()) * index) / parts));
  return Array.from({ length: parts }, (_, index) => ({ since: at(index), until: at(index + 1) }));
}

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
  const row = await firstRow<{ occurred_at: Date }>(db)`
    select * from (${unionAll(parts)}) as firsts
    order by occurred_at ${direction} limit 1`;
  return row?.occurred_at;
}
