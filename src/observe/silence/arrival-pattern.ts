import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { learnRates } from './weekly-rates.ts';
import type { QuietPeriod, History, HistoryHour, Rates } from './weekly-rates.ts';

export interface ArrivalPattern extends Rates {
  /** A gap in which more deliveries than this were expected (at least) is so rare by chance that it is an alarm. */
  readonly bound: number;
  /** The gaps of the history, except the unusual ones. */
  readonly gaps: readonly QuietPeriod[];
}

/** The time that patterns are learned from. */
export const HISTORY_MS = 28 * DAY_MS;

/** A shorter history does not contain every hour of the week. */
const MIN_HISTORY_MS = 7 * DAY_MS;
const MIN_TAIL = 3;
const MAX_TAIL = 30;

/** This many of the longest gaps may have been outages: only that they were long is certain. */
const OUTLIERS = 2;

/** The rate of false alarms for one source and type, if the tail and the rates were known exactly. */
const ALARMS_PER_YEAR = 0.15;
const BURST_MARGIN = 1.3;

/**
 * Learns the pattern from the hours of the 28 days up to the last arrival; undefined if there are too few.
 *
 * Time is measured in the deliveries that usually arrive at that hour of the week, so nights, weekends and busy hours
 * become alike. The longest gaps, measured this way, are modelled as an exponential tail (peaks over threshold). Its mean
 * is 1 for Poisson arrivals, and the size of a burst for bursts.
 */
export function learnPattern(hours: readonly HistoryHour[], lastReceivedAt: number) {
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

/** Learns as if the outages were not part of the time; their gaps stay among the longest. */
function learnFrom(
  history: History,
  gaps: readonly QuietPeriod[],
  outages: readonly QuietPeriod[],
): ArrivalPattern | undefined {
  const { expected, leastExpected } = learnRates(history, outages);
  const lengths = gaps.map(({ from, to }) => leastExpected(from, to)).sort((a, b) => b - a);
  const bound = boundOf(lengths, (history.until - history.since) / DAY_MS);
  if (bound === undefined) return undefined;
  return { expected, leastExpected, bound, gaps: gaps.filter((gap) => !outages.includes(gap)) };
}

/** The length that gaps exceed rarely enough, from all gaps (longest first) of a number of days. */
function boundOf(lengths: readonly number[], days: number): number | undefined {
  const size = Math.min(MAX_TAIL, Math.ceil(lengths.length / 2), lengths.length - OUTLIERS - 1);
  const base = lengths[OUTLIERS + size];
  const longest = lengths[OUTLIERS];
  if (size < MIN_TAIL || base === undefined || longest === undefined) return undefined;
  const tail = lengths.slice(OUTLIERS, OUTLIERS + size);
  const excess = tail.reduce((sum, length) => sum + length - base, 0) + OUTLIERS * (longest - base);
  // The estimate for an exponential distribution whose largest values are censored. If arrivals come in bursts, the
  // rates, too, are learned from few of them.
  const mean = excess / size;
  const scale = Math.max(1 + BURST_MARGIN * (mean - 1), 1, base / 10);
  const perYear = ((size + OUTLIERS) * 365) / days;
  return base + scale * Math.log(perYear / ALARMS_PER_YEAR);
}
