import type { HistoryHour } from '../../src/observe/rhythm.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A Monday. */
export const START = Date.UTC(2031, 0, 6);

/** How one message type arrives. */
export interface Traffic {
  /** Arrivals of a burst, or of a single delivery, an hour. */
  readonly hourlyRate: (time: number) => number;
  /** Mean number of deliveries of a burst, 10 s apart; 1 when each comes by itself. */
  readonly burst: number;
}

/** The same arrival every hour of the week. */
export const steady = (hourlyRate: number, burst = 1): Traffic => ({ hourlyRate: () => hourlyRate, burst });

/** From 8 to 18 o'clock, Monday to Friday, most at 13 o'clock; `shiftedBy` hours from the day on that is given. */
export function office(peak: number, burst = 1, shift = { after: Infinity, hours: 0 }): Traffic {
  const hourlyRate = (time: number) => {
    const local = new Date(time - (time >= shift.after ? shift.hours * HOUR_MS : 0));
    const hour = local.getUTCHours() + local.getUTCMinutes() / 60;
    const isOpen = local.getUTCDay() % 6 !== 0 && hour >= 8 && hour < 18;
    return isOpen ? peak * Math.sin((Math.PI * (hour - 8)) / 10) : 0;
  };
  return { hourlyRate, burst };
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What arrived in each minute in which something did, in order. */
export interface ArrivalMinutes {
  readonly times: readonly number[];
  readonly counts: readonly number[];
}

/** Arrivals of so many days, as they are known: to the minute. */
export function simulate({ hourlyRate, burst }: Traffic, days: number, random: () => number): ArrivalMinutes {
  const byMinute = new Map<number, number>();
  const arrive = (time: number) => {
    const minute = time - (time % MINUTE_MS);
    byMinute.set(minute, (byMinute.get(minute) ?? 0) + 1);
  };
  const exponential = () => -Math.log(1 - random());
  for (let minute = START; minute < START + days * DAY_MS; minute += MINUTE_MS) {
    // More than ten a minute leave none without: ten stand for them all.
    const rate = Math.min(hourlyRate(minute) / 60, 10);
    for (let at = exponential() / rate; at < 1; at += exponential() / rate) {
      const size = burst === 1 ? 1 : 1 + Math.floor(exponential() * burst);
      for (let sent = 0, time = minute; sent < size; sent += 1, time += exponential() * 10_000) arrive(time);
    }
  }
  const times = [...byMinute.keys()].sort((a, b) => a - b);
  return { times, counts: times.map((time) => byMinute.get(time) ?? 0) };
}

/** The same by the hour, as it is read from the database. */
export function hoursOf({ times, counts }: ArrivalMinutes): HistoryHour[] {
  const hours = new Map<number, HistoryHour>();
  for (const [index, time] of times.entries()) {
    const start = time - (time % HOUR_MS);
    const next = times[index + 1];
    const { deliveries, longestGap } = hours.get(start) ?? { deliveries: 0, longestGap: undefined };
    const gap = next === undefined ? undefined : { from: time + MINUTE_MS / 2, to: next + MINUTE_MS / 2 };
    const isLonger = gap !== undefined && gap.to - gap.from > (longestGap?.to ?? 0) - (longestGap?.from ?? 0);
    hours.set(start, {
      start,
      deliveries: deliveries + (counts[index] ?? 0),
      longestGap: isLonger ? gap : longestGap,
    });
  }
  return [...hours.values()];
}
