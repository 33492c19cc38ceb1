import { DAY_MS, HOUR_MS, learnRates } from './rates-of-week.ts';
import type { Gap, History, HistoryHour, Rates } from './rates-of-week.ts';

/** What is usual for one source and message type. */
export interface Rhythm extends Rates {
  /** A gap in which more than so many were expected (at least) comes by chance so seldom that it is an alarm. */
  readonly bound: number;
  /** The gaps of the history, but for those that were unusual themselves. */
  readonly gaps: readonly Gap[];
}

/** What is learnt from. */
export const HISTORY_MS = 28 * DAY_MS;

/** Below that every hour of the week is not known once. */
const MIN_HISTORY_MS = 7 * DAY_MS;
const MIN_TAIL = 3;
const MAX_TAIL = 30;

/** So many of the longest gaps may have been outages: of them it is known only that they were long. */
const OUTLIERS = 2;

/** Of one source and type, if the tail and the rates were known exactly. */
const ALARMS_PER_YEAR = 0.15;
const BURST_MARGIN = 1.3;

/**
 * Learns the rhythm from the hours of the 28 days up to the last arrival; undefined when they are too few to tell.
 *
 * Time is measured by what usually arrives in it at that hour of the week: then nights, weekends and busy hours are
 * alike. Of the gaps, so measured, the long ones are taken for an exponential tail (peaks over threshold), which
 * Poisson arrivals have with mean 1, and bursts with the size of a burst.
 */
export function learnRhythm(hours: readonly HistoryHour[], lastReceivedAt: number): Rhythm | undefined {
  const recent = hours.filter(({ start }) => start >= lastReceivedAt - HISTORY_MS);
  const since = Math.min(...recent.map(({ start }) => start)) + HOUR_MS;
  if (!(lastReceivedAt - since >= MIN_HISTORY_MS)) return undefined;
  const history = { since, until: lastReceivedAt, hours: recent.filter(({ start }) => start >= since) };
  const gaps = recent.flatMap(({ longestGap }) => (longestGap === undefined ? [] : [longestGap]));
  const first = learnFrom(history, gaps, []);
  if (first === undefined) return undefined;
  const outages = gaps.filter(({ from, to }) => first.leastExpected(from, to) > first.bound);
  return outages.length === 0 ? first : learnFrom(history, gaps, outages);
}

/** Learns as if the outages were no part of the time; their gaps stay among the longest. */
function learnFrom(history: History, gaps: readonly Gap[], outages: readonly Gap[]): Rhythm | undefined {
  const { expected, leastExpected } = learnRates(history, outages);
  const lengths = gaps.map(({ from, to }) => leastExpected(from, to)).sort((a, b) => b - a);
  const bound = boundOf(lengths, (history.until - history.since) / DAY_MS);
  if (bound === undefined) return undefined;
  return { expected, leastExpected, bound, gaps: gaps.filter((gap) => !outages.includes(gap)) };
}

/** The length that gaps exceed so rarely, from all of them, longest first, in so many days. */
function boundOf(lengths: readonly number[], days: number): number | undefined {
  const size = Math.min(MAX_TAIL, Math.ceil(lengths.length / 2), lengths.length - OUTLIERS - 1);
  const base = lengths[OUTLIERS + size];
  const longest = lengths[OUTLIERS];
  if (size < MIN_TAIL || base === undefined || longest === undefined) return undefined;
  const tail = lengths.slice(OUTLIERS, OUTLIERS + size);
  const excess = tail.reduce((sum, length) => sum + length - base, 0) + OUTLIERS * (longest - base);
  // The estimate for an exponential distribution whose largest values are censored. Where arrivals come in bursts,
  // the rates, too, are learnt from few.
  const mean = excess / size;
  const scale = Math.max(1 + BURST_MARGIN * (mean - 1), 1, base / 10);
  const perYear = ((size + OUTLIERS) * 365) / days;
  return base + scale * Math.log(perYear / ALARMS_PER_YEAR);
}
