import { HttpError } from '../../lib/errors.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import { readArrivals, type ArrivalRange } from '../../store/counts/read-arrivals.ts';
import type { Db } from '../../store/server/database.ts';
import type { Scope } from '../../store/server/scope.ts';
import { toAnswer } from '../api/route.ts';
import { shareAnswers } from './share-answers.ts';
import type { Arrivals } from './overview-schemas.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Bucket widths that are easy to read, in seconds. */
const WIDTHS = [60, 120, 300, 600, 900, 1_800, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY] as const;

const WIDEST = 7 * DAY;

/** Older arrivals are stored by hour (store/arrivals.ts). */
const BY_MINUTE_MS = 14 * DAY * 1000;

/** What a chart has room for. */
const MOST_BUCKETS = 120;

/**
 * The range extended to whole buckets, so that it contains everything that arrived in it. Throws HttpError 400 if it is empty.
 */
export function chooseBuckets({ since, until }: WholeRange, now: number): ArrivalRange {
  const seconds = (until.getTime() - since.getTime()) / 1000;
  if (seconds <= 0) throw new HttpError(400, 'BAD_REQUEST', 'until must be later than since');
  const finest = since.getTime() < now - BY_MINUTE_MS ? HOUR : 60;
  const bucketSeconds = WIDTHS.find((width) => width >= finest && seconds / width <= MOST_BUCKETS) ?? WIDEST;
  const width = bucketSeconds * 1000;
  return {
    since: new Date(Math.floor(since.getTime() / width) * width),
    until: new Date(Math.ceil(until.getTime() / width) * width),
    bucketSeconds,
  };
}

/** An answer is cached for this share of the bucket width: too short for a visible difference. */
const KEPT_SHARE = 1 / 200;

const LONGEST_KEPT_MS = 60_000;

/**
 * Counts the arrivals of a range for the API, and caches an answer for a two-hundredth of its bucket width, at most for a
 * minute: a week in buckets of two hours is a hundred thousand rows, too many to read every few seconds for each viewer.
 * Throws HttpError 400 for an empty range.
 */
export function createArrivalsReader(db: Db) {
  const read = shareAnswers(
    (scope: Scope, range: ArrivalRange) => readArrivals(db, scope, range),
    (_scope, { bucketSeconds }) => Math.min(bucketSeconds * 1000 * KEPT_SHARE, LONGEST_KEPT_MS),
  );
  return async (scope: Scope, asked: WholeRange): Promise<Arrivals> => {
    const range = chooseBuckets(asked, Date.now());
    const { since, until, bucketSeconds } = range;
    const items = (await read(scope, range)).map(toAnswer);
    return { since, until, bucket_seconds: bucketSeconds, items };
  };
}
