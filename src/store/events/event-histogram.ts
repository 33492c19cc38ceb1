import { sql } from 'kysely';
import type { MessageType } from '../../events/domain.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { unionAll, type Condition } from '../server/condition.ts';
import { familyQueries, selectsOf, timeConditions } from './event-filter.ts';
import type { EventFilter, FamilyQuery } from './event-filter.ts';
import { withinTime, type Db } from '../server/database.ts';
import type { Scope } from '../server/scope.ts';
import { allRows } from '../server/statement.ts';

/** One bar, from its start to the start of the next, within the range. */
export interface EventBar {
  readonly start: Date;
  readonly counts: Readonly<Partial<Record<MessageType, number>>>;
}

/** A filter with both ends of the time range. */
export type RangeFilter = EventFilter & WholeRange;

/** The limits for counting everything, and then for counting samples. */
const COUNT_TIMEOUT_MS = 1_000;
const SAMPLE_TIMEOUT_MS = 500;

/** The number of samples per bar, and the part of the bar that they cover together (1/64). */
const SAMPLES_A_BAR = 4;
const SAMPLED_PART = 64;

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

/** A Monday at midnight UTC: every bar starts a whole number of steps from it. */
const ORIGIN = Date.parse('1970-01-05T00:00:00Z');

/**
 * Counts the matching events by time and type, in at most `maxBars` bars (two at least), empty ones included, within 1.5
 * seconds: all of them (`isComplete`), else estimates from a few samples each, else none.
 */
export async function eventHistogram(db: Db, scope: Scope, filter: RangeFilter, maxBars: number) {
  const { bucketSeconds, starts } = divide(filter, maxBars);
  const queries = familyQueries(scope, filter);
  if (starts.length === 0 || queries.length === 0) {
    return { bucketSeconds, bars: toBars(starts, []), isComplete: true };
  }
  const all = await withinTime(db, COUNT_TIMEOUT_MS, (trx) => count(trx, queries, filter, bucketSeconds));
  if (all !== undefined) return { bucketSeconds, bars: toBars(starts, all), isComplete: true };
  const sampled = await withinTime(db, SAMPLE_TIMEOUT_MS, (trx) =>
    sample(trx, queries, drawSamples(filter, starts, bucketSeconds)),
  );
  return { bucketSeconds, bars: toBars(starts, sampled ?? []), isComplete: false };
}

/** The narrowest step that needs no more than `maxBars`, and the starts of its bars. */
function divide({ since, until }: RangeFilter, maxBars: number): { bucketSeconds: number; starts: number[] } {
  const wanted = Math.max(2, maxBars);
  let bucketSeconds = STEPS.find((step) => countBars(since, until, step) <= wanted) ?? WEEK;
  while (countBars(since, until, bucketSeconds) > wanted) bucketSeconds *= 2;
  const first = floorTo(since.getTime(), bucketSeconds);
  const length = countBars(since, until, bucketSeconds);
  return { bucketSeconds, starts: Array.from({ length }, (_, at) => first + at * bucketSeconds * 1_000) };
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

async function count(
  db: Db,
  queries: readonly FamilyQuery[],
  range: RangeFilter,
  bucketSeconds: number,
): Promise<readonly Count[]> {
  return allRows<Count>(db)`
    select date_bin(make_interval(secs => ${bucketSeconds}), occurred_at, ${new Date(ORIGIN)}::timestamptz) as start,
           message_type as "messageType", count(*)::float8 as count
    from (${timesOf(queries, timeConditions(range))}) as found group by 1, 2`;
}

type Sample = WholeRange & { readonly start: Date };

/** Draws the samples: one from each quarter of a bar, within the range. */
function drawSamples(range: RangeFilter, starts: readonly number[], bucketSeconds: number): Sample[] {
  const { since, until } = range;
  return starts.flatMap((start) => {
    const from = Math.max(start, since.getTime());
    const width = Math.min(start + bucketSeconds * 1_000, until.getTime()) - from;
    return Array.from({ length: SAMPLES_A_BAR }, (_, quarter) => {
      const share = (quarter + Math.random() * (1 - 1 / SAMPLED_PART)) / SAMPLES_A_BAR;
      const at = from + width * share;
      return {
        start: new Date(start),
        since: new Date(at),
        until: new Date(at + width / SAMPLED_PART / SAMPLES_A_BAR),
      };
    });
  });
}

/** Counts the events in the samples and scales the counts up to the bars. */
async function sample(db: Db, queries: readonly FamilyQuery[], samples: readonly Sample[]) {
  const inSample = [sql`occurred_at >= sampled.since`, sql`occurred_at < sampled.until`];
  return allRows<Count>(db)`
    select start, message_type as "messageType", count(*)::float8 * ${SAMPLED_PART}::int as count
    from unnest(${samples.map(({ start }) => start)}::timestamptz[],
           ${samples.map(({ since }) => since)}::timestamptz[], ${samples.map(({ until }) => until)}::timestamptz[])
           as sampled (start, since, until),
         lateral (${timesOf(queries, inSample)}) as found
    group by 1, 2`;
}

/** Type and time of each matching event that meets these conditions too. */
const timesOf = (queries: readonly FamilyQuery[], conditions: readonly Condition[]) =>
  unionAll(selectsOf(queries, conditions, () => sql`message_type, occurred_at`));

function toBars(starts: readonly number[], counted: readonly Count[]): EventBar[] {
  const byStart = Map.groupBy(counted, ({ start }) => start.getTime());
  const countsAt = (start: number) =>
    byStart.get(start)?.map(({ messageType, count }) => [messageType, count] as const) ?? [];
  return starts.map((start) => ({ start: new Date(start), counts: Object.fromEntries(countsAt(start)) }));
}
