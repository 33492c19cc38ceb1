import { formatCount, formatDuration } from '../../lib/text/units.ts';
import { HISTORY_MS, type ArrivalPattern } from './arrival-pattern.ts';
import type { QuietPeriod } from './weekly-rates.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import type { LastArrival } from '../../store/counts/read-arrivals.ts';

/** A shorter silence is never unusual, however many deliveries usually arrive: networks and clouds have hiccups. */
export const MIN_SILENCE_MS = 5 * 60 * 1000;

export interface Silence {
  /**
   * `unusual`: an operator should look into it. `unknown`: the history is too short or too sparse, or nothing has
   * arrived for 28 days, so nothing is expected any more. `never`: nothing has ever arrived.
   */
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
  /** Since the last arrival; 0 if nothing has ever arrived. */
  readonly silentSeconds: number;
  /** How many deliveries usually arrive in that time, at this time of the week. */
  readonly expected: number;
  /** The longest silence of the last 28 days that began at this time of the week and was not unusual. */
  readonly longestUsualSeconds: number;
}

export type TypeSilence = Silence & LastArrival;

const NOTHING_KNOWN = { expected: 0, longestUsualSeconds: 0 };

/**
 * Judges the silence at `now` (epoch milliseconds) by a pattern that was learned before. The time `away` does not count: this
 * service may have been down.
 */
export function judgeSilence(
  pattern: ArrivalPattern | undefined,
  lastReceivedAt: number | undefined,
  now: number,
  away: QuietPeriod = { from: now, to: now },
): Silence {
  if (lastReceivedAt === undefined) return { state: 'never', silentSeconds: 0, ...NOTHING_KNOWN };
  const silence = Math.max(0, now - lastReceivedAt);
  const silentSeconds = Math.round(silence / 1000);
  if (pattern === undefined || silence > HISTORY_MS)
    return { state: 'unknown', silentSeconds, ...NOTHING_KNOWN };
  const unseen = { from: Math.max(away.from, lastReceivedAt), to: Math.min(away.to, now) };
  const isLong = silence - Math.max(0, unseen.to - unseen.from) >= MIN_SILENCE_MS;
  const least = pattern.leastExpected(lastReceivedAt, now) - pattern.leastExpected(unseen.from, unseen.to);
  return {
    state: isLong && least > pattern.bound ? 'unusual' : 'usual',
    silentSeconds,
    expected: pattern.expected(lastReceivedAt, now),
    longestUsualSeconds: Math.round(longestGapLike(pattern.gaps, lastReceivedAt, now) / 1000),
  };
}

const WEEK_MS = 7 * 24 * HOUR_MS;

/** The longest of the gaps that began in the same hours of a week; if there are none, the longest of all gaps. */
function longestGapLike(gaps: readonly QuietPeriod[], from: number, now: number): number {
  const began = from - (from % HOUR_MS);
  const alike = gaps.filter((gap) => (((gap.from - began) % WEEK_MS) + WEEK_MS) % WEEK_MS <= now - began);
  const lengths = (alike.length > 0 ? alike : gaps).map((gap) => gap.to - gap.from);
  return Math.max(0, ...lengths);
}

/** Explains in one sentence why a silence is unusual. */
export function describeSilence({ silentSeconds, expected, longestUsualSeconds }: Silence): string {
  const usual = `about ${formatCount(Math.round(expected))} deliveries usually arrive in that time`;
  const longest = formatDuration(longestUsualSeconds);
  return `nothing for ${formatDuration(silentSeconds)}; ${usual}, and the longest usual gap is ${longest}`;
}
