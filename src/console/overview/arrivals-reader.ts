import type { Db } from '../../store/database.ts';
import { readArrivals } from '../../store/read-arrivals.ts';
import type { Arrival, ArrivalRange } from '../../store/read-arrivals.ts';

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
