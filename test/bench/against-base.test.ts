import { expect, test } from 'vitest';
import { median, medianParts } from '../../bench/against-base.ts';
import type { Measurement } from '../../bench/measure.ts';
import { formatAgainst } from '../../bench/report.ts';

const measured: Measurement = {
  target: 'redis',
  workload: 'audit-1',
  deliveriesPerSecond: 2_000,
  rowsPerSecond: 1_000,
  p50: 8,
  p99: 20,
  peakMemory: 250,
  processorTime: { program: 100, servers: 60, postgres: 40 },
  acknowledged: 20_000,
  refused: 0,
  unanswered: 0,
  expectedRows: 20_000,
  storedRows: 20_000,
  cutShort: false,
  drainSeconds: 10,
};

const run = (rowsPerSecond: number): Measurement => ({ ...measured, rowsPerSecond });

test('the median is the middle value, or between the two middle ones', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([1, 9, 5, 7])).toBe(6);
});

test('a part that a round does not have counts as nothing there', () => {
  const parts = medianParts([[{ name: 'zod', microseconds: 4 }], [], [{ name: 'zod', microseconds: 2 }]]);
  expect([...parts]).toEqual([['zod', 2]]);
});

test('the ratio is that of this checkout to the other, by the medians of the rounds', () => {
  const report = formatAgainst([
    { target: 'redis', workload: 'audit-1', base: [run(900), run(1_000), run(4_000)], here: [run(2_000)] },
    { target: 'redis', workload: 'audit-1-basic', base: [run(500)], here: [run(1_900)] },
  ]);
  expect(report).toMatch(/audit-1, xiq-sink on Redis +rows\/s +1,000 +2,000 +2\.00/);
  expect(report).toContain('Basic form, xiq-sink on Redis: 0.95 of the rows/s of bearer');
  expect(report).not.toContain('WRONG');
});

test('a run with missing rows is reported', () => {
  const wrong = { ...measured, storedRows: 19_999 };
  expect(
    formatAgainst([{ target: 'redis', workload: 'audit-1', base: [measured], here: [wrong] }]),
  ).toContain('1 run with WRONG rows');
});
