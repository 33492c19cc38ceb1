import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';

/** A time without arrivals, from the arrival before it to the arrival after it; epoch milliseconds. */
export interface QuietPeriod {
  readonly from: number;
  readonly to: number;
}

export interface HistoryHour {
  /** Start of the hour in UTC, epoch milliseconds. */
  readonly start: number;
  readonly deliveries: number;
  /** The longest gap that began in this hour and has ended; undefined if there is none. */
  readonly longestGap: QuietPeriod | undefined;
}

const WEEK_HOURS = 7 * 24;

/** Hours with more arrivals than this may be an hour off: daylight saving time, a late start of the day. */
const MIN_SHIFTED_RATE = 3;

/** An hour is at an edge if it has this many times the arrivals of its neighbour. Bursts explain smaller ratios. */
const EDGE = 4;

export interface History {
  readonly since: number;
  readonly until: number;
  readonly hours: readonly HistoryHour[];
}

/** How many deliveries usually arrive between two instants (epoch milliseconds). */
export interface Rates {
  readonly expected: (from: number, to: number) => number;
  /** The same, but an hour at the edge of a busy time counts as little as its neighbour: it may be an hour off. */
  readonly leastExpected: (from: number, to: number) => number;
}

/** Learns how many deliveries arrive in each hour of the week, as if the outages were not part of the time. */
export function learnRates(history: History, outages: readonly QuietPeriod[]): Rates {
  const counts = weekOf(history.hours.map(({ start, deliveries }) => [start, deliveries]));
  const exposures = weekOf(exposedHours(history, outages));
  const rates = counts.map((count, hour) => count / Math.max(exposures[hour] ?? 0, 1));
  const smoothed = smooth(rates);
  const level = recentLevel(smoothed, history, outages);
  return {
    expected: integrate(smoothed.map((rate) => rate * level)),
    leastExpected: integrate(smoothed.map((rate, hour) => Math.min(rate, leastRate(rates, hour)) * level)),
  };
}

/** Sums of amounts by the hour of the week of their times. */
function weekOf(amounts: readonly (readonly [number, number])[]): number[] {
  const week = Array.from({ length: WEEK_HOURS }, () => 0);
  for (const [time, amount] of amounts) {
    const hour = hourOfWeek(time);
    week[hour] = (week[hour] ?? 0) + amount;
  }
  return week;
}

const hourOfWeek = (time: number) => Math.floor(time / HOUR_MS) % WEEK_HOURS;

/** The hours of the history, and the part of each that was outside the outages. */
function exposedHours({ since, until }: History, outages: readonly QuietPeriod[]): [number, number][] {
  const hours: [number, number][] = [];
  for (let start = since; start < until; start += HOUR_MS) {
    const end = Math.min(start + HOUR_MS, until);
    const overlaps = outages.map(({ from, to }) => Math.max(0, Math.min(end, to) - Math.max(start, from)));
    const lost = overlaps.reduce((sum, overlap) => sum + overlap, 0);
    hours.push([start, Math.max(0, end - start - lost) / HOUR_MS]);
  }
  return hours;
}

/** Four weeks say little about one hour, so its neighbours count half as much. */
const smooth = (rates: readonly number[]) =>
  rates.map((rate, hour) => (neighbour(rates, hour, -1) + 2 * rate + neighbour(rates, hour, 1)) / 4);

/** The rate that is certain: at an edge, where the day begins or ends, that of the neighbour. */
function leastRate(rates: readonly number[], hour: number): number {
  const rate = neighbour(rates, hour, 0);
  const least = Math.min(neighbour(rates, hour, -1), neighbour(rates, hour, 1));
  return rate >= MIN_SHIFTED_RATE && least < rate / EDGE ? least : Infinity;
}

const neighbour = (rates: readonly number[], hour: number, offset: number) =>
  rates[(hour + WEEK_HOURS + offset) % WEEK_HOURS] ?? 0;

/** The arrivals of the last seven days as a share of the usual ones, at most 1. */
function recentLevel(rates: readonly number[], history: History, outages: readonly QuietPeriod[]): number {
  const recent = { ...history, since: Math.max(history.since, history.until - 7 * DAY_MS) };
  let arrived = 0;
  for (const { start, deliveries } of history.hours) if (start >= recent.since) arrived += deliveries;
  let usual = 0;
  for (const [start, exposed] of exposedHours(recent, outages)) {
    usual += neighbour(rates, hourOfWeek(start), 0) * exposed;
  }
  return usual > 0 ? Math.min(1, arrived / usual) : 1;
}

/** Turns rates by hour of the week into the sum between two instants. */
function integrate(rates: readonly number[]): (from: number, to: number) => number {
  const sums = [0];
  for (const rate of rates) sums.push((sums.at(-1) ?? 0) + rate);
  const ofWeek = sums[WEEK_HOURS] ?? 0;
  const upTo = (time: number) => {
    const hour = hourOfWeek(time);
    const weeks = Math.floor(time / HOUR_MS / WEEK_HOURS);
    return weeks * ofWeek + (sums[hour] ?? 0) + ((time % HOUR_MS) / HOUR_MS) * (rates[hour] ?? 0);
  };
  return (from, to) => Math.max(0, upTo(to) - upTo(from));
}
