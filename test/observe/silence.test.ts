import { describe, expect, it } from 'vitest';
import { learnRhythm } from '../../src/observe/rhythm.ts';
import type { HistoryHour } from '../../src/observe/rhythm.ts';
import { describeSilence } from '../../src/observe/describe-silence.ts';
import { assessSilence, judgeSilence } from '../../src/observe/silence.ts';
import {
  createRandom,
  DAY_MS,
  HOUR_MS,
  hoursOf,
  MINUTE_MS,
  office,
  simulate,
  START,
  steady,
} from './simulated-arrivals.ts';
import type { ArrivalMinutes, Traffic } from './simulated-arrivals.ts';

/** What is known of these hours at an instant: nothing of what came later. */
function historyAt(hours: readonly HistoryHour[], time: number): HistoryHour[] {
  return hours
    .filter(({ start }) => start <= time && start >= time - 29 * DAY_MS)
    .map((hour) => ((hour.longestGap?.to ?? 0) > time ? { ...hour, longestGap: undefined } : hour));
}

/** How often an alarm is raised in simulated years without a stop, a year. */
function countAlarms(minutes: ArrivalMinutes, hours: readonly HistoryHour[]): number {
  let learntAt = -Infinity;
  let rhythm: ReturnType<typeof learnRhythm>;
  let alarms = 0;
  for (const [index, minute] of minutes.times.entries()) {
    const last = minute + MINUTE_MS / 2;
    const next = (minutes.times[index + 1] ?? minute) + MINUTE_MS / 2;
    if (last < START + 28 * DAY_MS || next - last < 5 * MINUTE_MS) continue;
    if (last - learntAt > 12 * HOUR_MS) {
      rhythm = learnRhythm(historyAt(hours, last), last);
      learntAt = last;
    }
    // The longer, the more unusual: what is usual at the end was so at any time.
    if (judgeSilence(rhythm, last, next).state === 'unusual') alarms += 1;
  }
  return alarms;
}

/** How long after a stop it is noticed, in minutes. */
function detect(minutes: ArrivalMinutes, hours: readonly HistoryHour[], stop: number): number {
  const last = (minutes.times.findLast((time) => time < stop) ?? stop) + MINUTE_MS / 2;
  const rhythm = learnRhythm(historyAt(hours, last), last);
  // The longer, the more unusual: the first minute is found by halving.
  let usual = 0;
  let unusual = 28 * DAYS;
  while (unusual - usual > 1) {
    const middle = Math.floor((usual + unusual) / 2);
    if (judgeSilence(rhythm, last, stop + middle * MINUTE_MS).state === 'unusual') unusual = middle;
    else usual = middle;
  }
  return unusual;
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const HOURS = 60;
const DAYS = 24 * HOURS;

/** Traffic, years of it, and within how many minutes a stop at 11 o'clock on a workday must be noticed (median). */
const KINDS: readonly [string, Traffic, number, number][] = [
  ['10 a second', steady(36_000), 0.2, 6],
  ['1 a minute', steady(60), 0.6, 30],
  ['6 an hour', steady(6), 1, 3 * HOURS],
  ['1 an hour', steady(1), 2, 16 * HOURS],
  ['office hours, 60 an hour', office(60), 1, 30],
  ['office hours, 6 an hour', office(6), 2, 4 * HOURS],
  ['bursts of 20, 2 an hour', steady(2, 20), 2, 10 * HOURS],
  ['bursts of 30, 3 a day', steady(3 / 24, 30), 5, 6 * DAYS],
  ['office hours, bursts of 10, 3 an hour', office(3, 10), 4, 6 * HOURS],
  ['1 a day', steady(1 / 24), 10, 10 * DAYS],
  ['3 a week', steady(3 / 168), 10, 17 * DAYS],
];

const STOPS = 12;

describe('silence, simulated', () => {
  const figures: Record<
    string,
    { 'false alarms a year': number; 'noticed within (median, minutes)': number }
  > = {};

  it.each(KINDS)('of %s: few false alarms, and a stop is noticed in time', (name, traffic, years, limit) => {
    const random = createRandom(7);
    const minutes = simulate(traffic, 28 + years * 365, random);
    const hours = hoursOf(minutes);
    const stops = Array.from({ length: STOPS }, (_, index) => {
      // A Tuesday, a Wednesday or a Thursday.
      return START + ((5 + Math.floor(index * years * 4)) * 7 + 1 + (index % 3)) * DAY_MS + 11 * HOUR_MS;
    });
    const found = {
      'false alarms a year': countAlarms(minutes, hours) / years,
      'noticed within (median, minutes)': median(stops.map((stop) => detect(minutes, hours, stop))),
    };
    figures[name] = found;
    expect(found['false alarms a year']).toBeLessThan(2);
    expect(found['noticed within (median, minutes)']).toBeLessThanOrEqual(limit);
    expect(found['noticed within (median, minutes)']).toBeGreaterThanOrEqual(4);
    if (Object.keys(figures).length === KINDS.length) console.table(figures);
  });
});
