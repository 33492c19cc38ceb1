import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../domain.ts';
import { HttpError } from '../../errors.ts';
import { readArrivals } from '../../store/arrivals.ts';
import type { Arrival, ArrivalRange } from '../../store/arrivals.ts';
import type { Db } from '../../store/database.ts';
import type { Arrivals, Arrived } from './overview-schemas.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** The ranges that have a button. */
export const RANGES = { hour: HOUR, day: DAY, week: 7 * DAY } as const;

export type RangeName = keyof typeof RANGES;

export const RANGE_NAMES = ['hour', 'day', 'week'] as const satisfies readonly RangeName[];

/** Widths that a person reads easily, in seconds. */
const WIDTHS = [60, 120, 300, 600, 900, 1_800, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY] as const;

const WIDEST = 7 * DAY;

/** More than a screen has columns; it keeps one question from asking for everything. */
const MOST_BUCKETS = 5_000;

/** Older arrivals are known by the hour (store/arrivals.ts). */
const BY_MINUTE_MS = 14 * DAY * 1000;

/** Which stretch of time, and how finely: one of the two widths, or neither. */
export interface AskedRange {
  readonly since: Date;
  readonly until: Date;
  readonly bucketSeconds?: number | undefined;
  /** About how many buckets. */
  readonly points?: number | undefined;
  readonly source?: string | undefined;
}

const USUAL_POINTS = 120;

/**
 * The whole buckets that a stretch of time lies in, so that no part of what arrived in it is left out. Throws
 * HttpError when it is empty, or has too many buckets.
 */
export function chooseBuckets(asked: AskedRange, now: number): ArrivalRange {
  const { since, until, source, points = USUAL_POINTS } = asked;
  const seconds = (until.getTime() - since.getTime()) / 1000;
  if (seconds <= 0) throw refused('until has to be later than since');
  const finest = since.getTime() < now - BY_MINUTE_MS ? HOUR : 60;
  const fitting = WIDTHS.find((width) => width >= finest && seconds / width <= points) ?? WIDEST;
  const bucketSeconds = asked.bucketSeconds ?? fitting;
  if (seconds / bucketSeconds > MOST_BUCKETS) throw refused(`that is more than ${MOST_BUCKETS} buckets`);
  const width = bucketSeconds * 1000;
  return {
    since: new Date(Math.floor(since.getTime() / width) * width),
    until: new Date(Math.ceil(until.getTime() / width) * width),
    bucketSeconds,
    source,
  };
}

const refused = (message: string) => new HttpError(400, 'BAD_REQUEST', message);

/** Reads what arrived, for many who look at the same at the same time. */
export type ArrivalsReader = (range: ArrivalRange) => Promise<readonly Arrival[]>;

/** So much of the width of a bucket an answer is kept: within it nobody sees a difference. */
const KEPT_SHARE = 1 / 200;

const LONGEST_KEPT_MS = 60_000;

interface Kept {
  readonly until: number;
  readonly answer: Promise<readonly Arrival[]>;
}

/**
 * Asks the database, and keeps an answer for a two-hundredth of the width of its buckets, at most for a minute: a week
 * in buckets of two hours is a hundred thousand rows, which need not be read every few seconds for each who looks.
 */
export function createArrivalsReader(db: Db): ArrivalsReader {
  const kept = new Map<string, Kept>();
  return (range) => {
    const now = performance.now();
    for (const [key, { until }] of kept) if (until <= now) kept.delete(key);
    const key = JSON.stringify(range);
    const known = kept.get(key);
    if (known !== undefined) return known.answer;
    const answer = readArrivals(db, range);
    const keepMs = Math.min(range.bucketSeconds * 1000 * KEPT_SHARE, LONGEST_KEPT_MS);
    kept.set(key, { until: now + keepMs, answer });
    answer.catch(() => kept.delete(key));
    return answer;
  };
}

/** Reads what arrived in a stretch of time, as the API tells it. Throws HttpError for a stretch that cannot be. */
export async function readAskedArrivals(read: ArrivalsReader, asked: AskedRange): Promise<Arrivals> {
  const range = chooseBuckets(asked, Date.now());
  const arrivals = await read(range);
  return {
    since: range.since.toISOString(),
    until: range.until.toISOString(),
    bucket_seconds: range.bucketSeconds,
    items: arrivals.map(({ bucket, messageType, ...counts }) => ({
      bucket: bucket.toISOString(),
      message_type: messageType,
      ...counts,
    })),
  };
}

const MINUTE_MS = 60_000;

/** In seconds; what is in narrow buckets is hardly kept by the reader. */
const RECENT_WIDTH = 300;

/**
 * What arrived in the last hour, day and week, to the minute: a line for each of the nine types, and one for what has
 * none if there is any. What is older than a day hardly changes, and is the most: it may be a minute old.
 */
export async function readArrived(read: ArrivalsReader, now: number): Promise<Arrived[]> {
  const end = Math.ceil((now + 1) / MINUTE_MS) * MINUTE_MS;
  const before = (seconds: number) => new Date(end - seconds * 1000);
  const until = new Date(end);
  const [hour, day, earlier] = await Promise.all([
    read({ since: before(RANGES.hour), until, bucketSeconds: RECENT_WIDTH }),
    read({ since: before(RANGES.day), until, bucketSeconds: RECENT_WIDTH }),
    read({ since: before(RANGES.week), until: before(RANGES.day), bucketSeconds: RANGES.week }),
  ]);
  const week = [...earlier, ...day];
  const hasUnknown = week.some(({ messageType }) => messageType === UNKNOWN_MESSAGE_TYPE);
  const types: readonly Arrived['message_type'][] = hasUnknown
    ? [...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE]
    : MESSAGE_TYPES;
  return types.map((type) => ({
    message_type: type,
    hour: amountOf(hour, type),
    day: amountOf(day, type),
    week: amountOf(week, type),
  }));
}

function amountOf(arrivals: readonly Arrival[], type: Arrival['messageType']) {
  const amount = { deliveries: 0, events: 0 };
  for (const { messageType, deliveries, events } of arrivals) {
    if (messageType !== type) continue;
    amount.deliveries += deliveries;
    amount.events += events;
  }
  return amount;
}
