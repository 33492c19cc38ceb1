import { QUARTER_MS } from './compare-history.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';

/** Log records may appear so late. Quarters that are younger are compared in every round, and those of a day every hour. */
export const LATENESS_MS = 6 * HOUR_MS;

/** Rounds are so far apart. */
export const ROUND_MS = 10 * MINUTE_MS;

/** A webhook may be on its way for so long before its log record counts as missing. */
export const GRACE_MS = 2 * MINUTE_MS;

/** A range of time, its end exclusive, in epoch milliseconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The quarters of an hour of one source and message type, and when each was compared. */
export type Schedule = ReturnType<typeof createSchedule>;

/** Creates a schedule of the last day, and of the time since `since`, which is compared once. */
export function createSchedule(since: number) {
  const comparedAt = new Map<number, number>();
  let oldest = since;

  /** How much too long a quarter has waited: from 1 on it is due. */
  function urgency(quarter: number, now: number): number {
    const last = comparedAt.get(quarter);
    if (last === undefined) return Infinity;
    const age = now - quarter;
    if (age > DAY_MS + QUARTER_MS) return 0;
    // One more round after the last record of the quarter may have appeared.
    const isComplete = age > QUARTER_MS + LATENESS_MS + ROUND_MS;
    // The minute: rounds do not begin to the millisecond.
    return (now - last + MINUTE_MS) / (isComplete ? HOUR_MS : ROUND_MS);
  }

  return {
    /** The range to compare next, of at most `longestMs`; undefined if none is due. */
    next(now: number, longestMs: number): Span | undefined {
      const end = now - GRACE_MS;
      const begin = quarterOf(Math.min(oldest, end - DAY_MS));
      const quarters: number[] = [];
      for (let quarter = quarterOf(end - 1); quarter >= begin; quarter -= QUARTER_MS) quarters.push(quarter);
      for (const quarter of comparedAt.keys()) if (quarter < begin) comparedAt.delete(quarter);
      const due = quarters.filter((quarter) => urgency(quarter, now) >= 1);
      // The newest of those that have waited too long by most. One call returns what lies between two of them, too.
      const [most] = due.toSorted((a, b) => compare(urgency(b, now), urgency(a, now)) || b - a);
      if (most === undefined) {
        oldest = now;
        return undefined;
      }
      const to = Math.min(most + QUARTER_MS, end);
      const from = due.findLast((quarter) => quarter <= most && quarter >= most + QUARTER_MS - longestMs);
      return { from: from ?? most, to };
    },
    compared({ from, to }: Span, at: number): void {
      for (let quarter = quarterOf(from); quarter < to; quarter += QUARTER_MS) comparedAt.set(quarter, at);
    },
  };
}

/** The beginning of the quarter of an hour that a time is in. */
export const quarterOf = (time: number) => Math.floor(time / QUARTER_MS) * QUARTER_MS;

/** Infinity minus itself is no number. */
const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
