import { sql } from 'kysely';
import type { MessageType } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db } from './database.ts';
import { allOf, familyQueries, timeConditions } from './event-filter.ts';
import type { EventFilter } from './event-filter.ts';
import { withinTime } from './timed-query.ts';

/** How many events there were in each stretch of a time range. */
export interface EventHistogram {
  /** Width of a bar. */
  readonly bucketSeconds: number;
  /** Every bar of the range, in the order of time, those without events included. */
  readonly bars: readonly EventBar[];
  /** Whether everything was counted. */
  readonly isComplete: boolean;
}

/** One bar: from its start to the next one's, as far as the range goes. */
export interface EventBar {
  readonly start: Date;
  readonly counts: Readonly<Partial<Record<MessageType, number>>>;
}

/** A filter whose time range has two ends. */
export type RangeFilter = EventFilter & { readonly since: Date; readonly until: Date };

const TIMEOUT_MS = 1_500;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const WEEK = 7 * 24 * HOUR;

/** Widths that a person reads easily, in seconds. */
const STEPS = [
  1,
  2,
  5,
  10,
  15,
  30,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48].map((hours) => hours * HOUR),
  WEEK,
];

/** A Monday at midnight in UTC, which every bar starts some whole steps from. */
const ORIGIN = Date.parse('1970-01-05T00:00:00Z');

/**
 * Counts the events that match by time and type, in at most so many bars (two at least). Takes 1.5 seconds at most.
 */
export async function eventHistogram(db: Db, filter: RangeFilter, maxBars: number): Promise<EventHistogram> {
  const { bucketSeconds, starts } = divide(filter, maxBars);
  const counted =
    starts.length === 0 ? [] : await withinTime(db, TIMEOUT_MS, (trx) => count(trx, filter, bucketSeconds));
  return { bucketSeconds, bars: toBars(starts, counted ?? []), isComplete: counted !== undefined };
}

/** The narrowest step that needs no more bars than these, and where its bars start. */
function divide({ since, until }: RangeFilter, maxBars: number): { bucketSeconds: number; starts: number[] } {
  const wanted = Math.max(2, maxBars);
  let bucketSeconds = STEPS.find((step) => countBars(since, until, step) <= wanted) ?? WEEK;
  while (countBars(since, until, bucketSeconds) > wanted) bucketSeconds *= 2;
  const first = floorTo(since.getTime(), bucketSeconds);
  const starts = Array.from(
    { length: countBars(since, until, bucketSeconds) },
    (_, index) => first + index * bucketSeconds * 1_000,
  );
  return { bucketSeconds, starts };
}

function countBars(since: Date, until: Date, step: number): number {
  if (until <= since) return 0;
  return Math.ceil((until.getTime() - floorTo(since.getTime(), step)) / (step * 1_000));
}

const floorTo = (time: number, step: number) =>
  ORIGIN + Math.floor((time - ORIGIN) / (step * 1_000)) * step * 1_000;

interface Count {
  readonly start: Date;
  readonly messageType: MessageType;
  readonly count: number;
}

async function count(db: Db, filter: RangeFilter, bucketSeconds: number): Promise<readonly Count[]> {
  const parts = familyQueries(filter).flatMap(({ family, conditions, branches }) =>
    branches.map(
      ({ condition }) => sql`select message_type, occurred_at from ${sql.table(TABLE_OF[family])}
        where ${allOf([...conditions, ...timeConditions(filter), condition])}`,
    ),
  );
  if (parts.length === 0) return [];
  const { rows } = await sql<Count>`
    select date_bin(make_interval(secs => ${bucketSeconds}), occurred_at, ${new Date(ORIGIN)}::timestamptz) as start,
           message_type as "messageType", count(*)::float8 as count
    from (${sql.join(parts, sql` union all `)}) as found group by 1, 2`.execute(db);
  return rows;
}

function toBars(starts: readonly number[], counted: readonly Count[]): EventBar[] {
  const byStart = Map.groupBy(counted, ({ start }) => start.getTime());
  return starts.map((start) => ({
    start: new Date(start),
    counts: Object.fromEntries(
      byStart.get(start)?.map(({ messageType, count }) => [messageType, count]) ?? [],
    ),
  }));
}
