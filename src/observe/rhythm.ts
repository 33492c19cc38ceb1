/** A time without arrivals, from the one that it began behind to the one that ended it; epoch milliseconds. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** An hour in which something arrived. */
export interface HistoryHour {
  /** Start of the hour in UTC, epoch milliseconds. */
  readonly start: number;
  readonly deliveries: number;
  /** The longest gap that began in it and has ended; undefined when none has. */
  readonly longestGap: Gap | undefined;
}

/** What is usual for one source and message type. */
export interface Rhythm {
  /** How many deliveries usually arrive between two instants (epoch milliseconds). */
  readonly expected: (from: number, to: number) => number;
  /** The same by the lowest rate of the hour and its neighbours: what may come an hour earlier or later counts little. */
  readonly leastExpected: (from: number, to: number) => number;
  /** A gap in which more than so many were expected (at least) comes by chance so seldom that it is an alarm. */
  readonly bound: number;
  /** The gaps of the history, but for those that were unusual themselves. */
  readonly gaps: readonly Gap[];
}

export const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_HOURS = 7 * 24;
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

/** Hours with more arrivals than this may lie an hour off: daylight saving time, a late start of the day. */
const MIN_SHIFTED_RATE = 3;

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

interface History {
  readonly since: number;
  readonly until: number;
  readonly hours: readonly HistoryHour[];
}

/** Learns as if the outages were no part of the time; their gaps stay among the longest. */
function learnFrom(history: History, gaps: readonly Gap[], outages: readonly Gap[]): Rhythm | undefined {
  const rates = ratesOfWeek(history, outages);
  const expected = integrate(rates);
  const leastExpected = integrate(rates.map((rate, hour) => leastRate(rates, rate, hour)));
  const lengths = gaps.map(({ from, to }) => leastExpected(from, to)).sort((a, b) => b - a);
  const bound = boundOf(lengths, (history.until - history.since) / DAY_MS);
  if (bound === undefined) return undefined;
  return { expected, leastExpected, bound, gaps: gaps.filter((gap) => !outages.includes(gap)) };
}

/** Arrivals an hour for each hour of the week; lower all week when the last seven days brought fewer. */
function ratesOfWeek({ since, until, hours }: History, outages: readonly Gap[]): number[] {
  const counts = Array.from({ length: WEEK_HOURS }, () => 0);
  const exposures = Array.from({ length: WEEK_HOURS }, () => 0);
  for (const { start, deliveries } of hours) add(counts, start, deliveries);
  const recently = until - 7 * DAY_MS;
  for (let start = since; start < until; start += HOUR_MS)
    add(exposures, start, exposure(start, until, outages));
  const rates = smooth(counts.map((count, hour) => count / Math.max(exposures[hour] ?? 0, 1)));

  let arrived = 0;
  let usual = 0;
  for (const { start, deliveries } of hours) if (start >= recently) arrived += deliveries;
  for (let start = since; start < until; start += HOUR_MS) {
    if (start >= recently) usual += (rates[hourOfWeek(start)] ?? 0) * exposure(start, until, outages);
  }
  const level = usual > 0 ? Math.min(1, arrived / usual) : 1;
  return rates.map((rate) => rate * level);
}

/** Four weeks say little of one hour: its neighbours count half as much. */
const smooth = (rates: readonly number[]) =>
  rates.map((rate, hour) => (neighbour(rates, hour, -1) + 2 * rate + neighbour(rates, hour, 1)) / 4);

const neighbour = (rates: readonly number[], hour: number, offset: number) =>
  rates[(hour + WEEK_HOURS + offset) % WEEK_HOURS] ?? 0;

const hourOfWeek = (time: number) => Math.floor(time / HOUR_MS) % WEEK_HOURS;

function add(cells: number[], time: number, amount: number): void {
  const cell = hourOfWeek(time);
  cells[cell] = (cells[cell] ?? 0) + amount;
}

/** How much of the hour was outside the outages. */
function exposure(start: number, until: number, outages: readonly Gap[]): number {
  const end = Math.min(start + HOUR_MS, until);
  const lost = outages.reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
    0,
  );
  return Math.max(0, end - start - lost) / HOUR_MS;
}

function leastRate(rates: readonly number[], rate: number, hour: number): number {
  if (rate < MIN_SHIFTED_RATE) return rate;
  return Math.min(neighbour(rates, hour, -1), rate, neighbour(rates, hour, 1));
}

/** From rates by hour of the week to the sum between two instants. */
function integrate(rates: readonly number[]): (from: number, to: number) => number {
  const sums = [0];
  for (const rate of rates) sums.push((sums.at(-1) ?? 0) + rate);
  const ofWeek = sums[WEEK_HOURS] ?? 0;
  const upTo = (time: number) => {
    const cell = hourOfWeek(time);
    const weeks = Math.floor(time / HOUR_MS / WEEK_HOURS);
    return weeks * ofWeek + (sums[cell] ?? 0) + ((time % HOUR_MS) / HOUR_MS) * (rates[cell] ?? 0);
  };
  return (from, to) => Math.max(0, upTo(to) - upTo(from));
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
