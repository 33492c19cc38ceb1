import { describe, expect, it } from 'vitest';
import { mulberry32 } from '../../../emulator/random.ts';
import { learnPattern } from '../../../src/observe/silence/arrival-pattern.ts';
import type { HistoryHour } from '../../../src/observe/silence/weekly-rates.ts';
import { judgeSilence } from '../../../src/observe/silence/silence.ts';
import {
  DAY_MS,
  HOUR_MS,
  hoursOf,
  MINUTE_MS,
  office,
  shifts,
  simulate,
  START,
  steady,
  type ArrivalMinute,
  type Traffic,
} from '../simulated-arrivals.ts';

/** What is known of these hours at an instant: nothing of what came later. */
function historyAt(hours: readonly HistoryHour[], time: number): HistoryHour[] {
  return hours
    .filter(({ start }) => start <= time && start >= time - 29 * DAY_MS)
    .map((hour) => ((hour.longestGap?.to ?? 0) > time ? { ...hour, longestGap: undefined } : hour));
}

/** How often an alarm is raised in simulated years without a stop, a year. */
function countAlarms(minutes: readonly ArrivalMinute[], hours: readonly HistoryHour[]): number {
  let learntAt = -Infinity;
  let pattern: ReturnType<typeof learnPattern>;
  let alarms = 0;
  for (const [index, { time }] of minutes.entries()) {
    const last = time + MINUTE_MS / 2;
    const next = (minutes[index + 1]?.time ?? time) + MINUTE_MS / 2;
    if (last < START + 28 * DAY_MS || next - last < 5 * MINUTE_MS) continue;
    if (last - learntAt > 12 * HOUR_MS) {
      pattern = learnPattern(historyAt(hours, last), last);
      learntAt = last;
    }
    // The longer, the more unusual: what is usual at the end was so at any time.
    if (judgeSilence(pattern, last, next).state === 'unusual') alarms += 1;
  }
  return alarms;
}

/** How long after a stop it is noticed, in minutes. */
function detect(minutes: readonly ArrivalMinute[], hours: readonly HistoryHour[], stop: number): number {
  const last = (minutes.findLast(({ time }) => time < stop)?.time ?? stop) + MINUTE_MS / 2;
  const pattern = learnPattern(historyAt(hours, last), last);
  // The longer, the more unusual: the first minute is found by halving.
  let usual = 0;
  let unusual = 28 * DAYS;
  while (unusual - usual > 1) {
    const middle = Math.floor((usual + unusual) / 2);
    if (judgeSilence(pattern, last, stop + middle * MINUTE_MS).state === 'unusual') unusual = middle;
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

it.for(KINDS)('few false alarms, and stops noticed: %s', async ([, traffic, years, limit], { annotate }) => {
  const random = mulberry32(7);
  const minutes = simulate(traffic, 28 + years * 365, random);
  const hours = hoursOf(minutes);
  const stops = Array.from({ length: STOPS }, (_, index) => {
    // A Tuesday, a Wednesday or a Thursday.
    return START + ((5 + Math.floor(index * years * 4)) * 7 + 1 + (index % 3)) * DAY_MS + 11 * HOUR_MS;
  });
  const alarmsPerYear = countAlarms(minutes, hours) / years;
  const noticedAfter = median(stops.map((stop) => detect(minutes, hours, stop)));
  await annotate(`${alarmsPerYear.toFixed(1)} false alarms a year, a stop noticed after ${noticedAfter} min`);
  expect(alarmsPerYear).toBeLessThan(2);
  expect(noticedAfter).toBeGreaterThanOrEqual(4);
  expect(noticedAfter).toBeLessThanOrEqual(limit);
});

/** A Wednesday at 11 o'clock, after six weeks. */
const STOP = START + 44 * DAY_MS + 11 * HOUR_MS;

describe('silence', () => {
  it('is usual where the clock was changed for daylight saving time', () => {
    for (const hoursLater of [-1, 0, 1]) {
      const minutes = simulate(shifts(60, STOP - 11 * HOUR_MS, hoursLater), 58, mulberry32(5));
      expect(countAlarms(minutes, hoursOf(minutes))).toBe(0);
    }
  });

  it('is not learnt from an outage, nor does it hide the next', () => {
    const outage = (time: number) => time > STOP - 9 * DAY_MS && time < STOP - 6 * DAY_MS;
    for (const [traffic, minutes] of [
      [steady(60), 30],
      [office(60), 40],
      [steady(6), 4 * HOURS],
    ] as const) {
      const all = simulate(traffic, Math.ceil((STOP - START) / DAY_MS), mulberry32(3));
      const kept = all.filter(({ time }) => time < STOP && !outage(time));
      const last = (kept.at(-1)?.time ?? 0) + MINUTE_MS / 2;
      const pattern = learnPattern(hoursOf(kept), last);
      const states = [0, minutes].map((after) => judgeSilence(pattern, last, STOP + after * MINUTE_MS).state);
      expect(states).toEqual(['usual', 'unusual']);
    }
  });
});
