import { HttpError } from '../../errors.ts';
import type { ArrivalRange } from '../../store/read-arrivals.ts';

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
