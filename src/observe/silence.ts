import type { MessageType } from '../domain.ts';
import { HOUR_MS } from './rates-of-week.ts';
import type { Gap, HistoryHour } from './rates-of-week.ts';
import { HISTORY_MS, learnRhythm } from './rhythm.ts';
import type { Rhythm } from './rhythm.ts';

/** No shorter silence is unusual, however much usually arrives: networks and clouds have hiccups. */
export const MIN_SILENCE_MS = 5 * 60 * 1000;

/** What is known of the arrivals of one source and message type. */
export interface History {
  /** Epoch milliseconds; undefined when nothing ever arrived. */
  readonly lastReceivedAt: number | undefined;
  /** In which something arrived, of the 28 days up to the last arrival. */
  readonly hours: readonly HistoryHour[];
}

/** How unusual a present silence is. */
export interface Silence {
  /**
   * `unusual`: it should be looked at. `unknown`: the history is too short or too thin to tell, or nothing came for
   * 28 days, so that nothing is expected any more. `never`: nothing ever arrived.
   */
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
  /** Since the last arrival; 0 when nothing ever arrived. */
  readonly silentSeconds: number;
  /** How many deliveries usually arrive in such a time at this time of the week. */
  readonly expected: number;
  /** The longest silence of the last 28 days that began at this time of the week and was not unusual itself. */
  readonly longestUsualSeconds: number;
}

/** A silence of one source and message type. */
export interface TypeSilence extends Silence {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
}

const NOTHING_KNOWN = { expected: 0, longestUsualSeconds: 0 };

/** Judges the silence at `now` (epoch milliseconds). Of the time `away` nothing is known: we may have been down. */
export function assessSilence({ lastReceivedAt, hours }: History, now: number, away?: Gap): Silence {
  const rhythm = lastReceivedAt === undefined ? undefined : learnRhythm(hours, lastReceivedAt);
  return judgeSilence(rhythm, lastReceivedAt, now, away);
}

/** Judges a silence against a rhythm that was learnt before. */
export function judgeSilence(
  rhythm: Rhythm | undefined,
  lastReceivedAt: number | undefined,
  now: number,
  away: Gap = { from: now, to: now },
): Silence {
  if (lastReceivedAt === undefined) return { state: 'never', silentSeconds: 0, ...NOTHING_KNOWN };
  const silence = Math.max(0, now - lastReceivedAt);
  const silentSeconds = Math.round(silence / 1000);
  if (rhythm === undefined || silence > HISTORY_MS)
    return { state: 'unknown', silentSeconds, ...NOTHING_KNOWN };
  const unseen = { from: Math.max(away.from, lastReceivedAt), to: Math.min(away.to, now) };
  const isLong = silence - Math.max(0, unseen.to - unseen.from) >= MIN_SILENCE_MS;
  const least = rhythm.leastExpected(lastReceivedAt, now) - rhythm.leastExpected(unseen.from, unseen.to);
  return {
    state: isLong && least > rhythm.bound ? 'unusual' : 'usual',
    silentSeconds,
    expected: rhythm.expected(lastReceivedAt, now),
    longestUsualSeconds: Math.round(longestGapLike(rhythm.gaps, lastReceivedAt, now) / 1000),
  };
}

const WEEK_MS = 7 * 24 * HOUR_MS;

/** The longest of the gaps that began in the same hours of a week; of all, when none did. */
function longestGapLike(gaps: readonly Gap[], from: number, now: number): number {
  const began = from - (from % HOUR_MS);
  const alike = gaps.filter((gap) => (((gap.from - began) % WEEK_MS) + WEEK_MS) % WEEK_MS <= now - began);
  const lengths = (alike.length > 0 ? alike : gaps).map((gap) => gap.to - gap.from);
  return Math.max(0, ...lengths);
}
