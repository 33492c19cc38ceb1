import type { HistoryHour } from '../../src/observe/silence/weekly-rates.ts';

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

/** From 8 to 18 o'clock, Monday to Friday, most at 13 o'clock. */
export const office = (peak: number, burst = 1): Traffic => ({
  hourlyRate: (time) => {
    const hour = officeHour(time);
    return hour === undefined ? 0 : peak * Math.sin((Math.PI * (hour - 8)) / 10);
  },
  burst,
});

/** The same all day from 8 to 18 o'clock, Monday to Friday; from `after` on so many hours later. */
export const shifts = (hourlyRate: number, after: number, hoursLater: number): Traffic => ({
  hourlyRate: (time) => {
    const local = time < after ? time : time - hoursLater * HOUR_MS;
    return officeHour(local) === undefined ? 0 : hourlyRate;
  },
  burst: 1,
});

function officeHour(time: number): number | undefined {
  const date = new Date(time);
  const hour = date.getUTCHours() + date.getUTCMinutes() / 60;
  return date.getUTCDay() % 6 !== 0 && hour >= 8 && hour < 18 ? hour : undefined;
}

/** A minute in which something arrived. */
export interface ArrivalMinute {
  readonly time: number;
  readonly deliveries: number;
}

/** Arrivals of so many days, as they are known: to the minute. */
export function simulate(
  { hourlyRate, burst }: Traffic,
  days: number,
  random: () => number,
): ArrivalMinute[] {
  const byMinute = new Map<number, number>();
  const arrive = (time: number, deliveries: number) => {
    const minute = time - (time % MINUTE_MS);
    byMinute.set(minute, (byMinute.get(minute) ?? 0) + deliveries);
  };
  const exponential = () => -Math.log(1 - random());
  for (let minute = START; minute < START + days * DAY_MS; minute += MINUTE_MS) {
    // More than ten a minute leave none without: each of the ten then stands for several.
    const rate = Math.min(hourlyRate(minute) / 60, 10);
    const each = hourlyRate(minute) / 60 / rate;
    for (let at = exponential() / rate; at < 1; at += exponential() / rate) {
      const size = burst === 1 ? 1 : 1 + Math.floor(exponential() * burst);
      for (let sent = 0, time = minute; sent < size; sent += 1, time += exponential() * 10_000)
        arrive(time, each);
    }
  }
  return [...byMinute.keys()]
    .sort((a, b) => a - b)
    .map((time) => ({ time, deliveries: byMinute.get(time) ?? 0 }));
}

/** The same by the hour, as it is read from the database. */
export function hoursOf(minutes: readonly ArrivalMinute[]): HistoryHour[] {
  const hours = new Map<number, HistoryHour>();
  for (const [index, { time, deliveries }] of minutes.entries()) {
    const start = time - (time % HOUR_MS);
    const next = minutes[index + 1]?.time;
    const known = hours.get(start);
    const longest = known?.longestGap;
    const gap = next === undefined ? undefined : { from: time + MINUTE_MS / 2, to: next + MINUTE_MS / 2 };
    const isLonger = gap !== undefined && gap.to - gap.from > (longest?.to ?? 0) - (longest?.from ?? 0);
    hours.set(start, {
      start,
      deliveries: deliveries + (known?.deliveries ?? 0),
      longestGap: isLonger ? gap : longest,
    });
  }
  return [...hours.values()];
}
