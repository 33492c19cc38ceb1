import { expect, test } from 'vitest';
import type { Measurement } from '../../bench/measure.ts';
import { compare, formatComparison } from '../../bench/report.ts';

const measured: Measurement = {
  target: 'plain',
  workload: 'audit-1',
  deliveriesPerSecond: 2_000,
  rowsPerSecond: 1_000,
  p50: 8,
  p99: 20,
  peakMemory: 250,
  processorTime: undefined,
  acknowledged: 20_000,
  refused: 0,
  unanswered: 0,
  expectedRows: 20_000,
  storedRows: 20_000,
  cutShort: false,
  drainSeconds: 10,
};

test('ratios are against the plain receiver under the same workload', () => {
  const [ours] = compare([
    { ...measured, target: 'redis', deliveriesPerSecond: 3_000, rowsPerSecond: 5_000 },
    { ...measured, workload: 'location-1', rowsPerSecond: 1 },
    measured,
  ]);
  expect(ours?.ratio).toEqual({ deliveriesPerSecond: 1.5, rowsPerSecond: 5 });
});

test('without the plain receiver there is no ratio', () => {
  expect(compare([{ ...measured, target: 'redis' }])[0]?.ratio).toBeUndefined();
});

test('missing rows are distinguished from rows that were still being stored', () => {
  const format = (changes: Partial<Measurement>) => formatComparison(compare([{ ...measured, ...changes }]));
  expect(format({})).toContain('all 20,000');
  expect(format({ storedRows: 19_999 })).toContain('19,999 of 20,000, WRONG');
  expect(format({ storedRows: 19_999, cutShort: true })).toContain('19,999 of 20,000, out of time');
  expect(format({ refused: 3, unanswered: 4 })).toContain('3 rejected, 4 unanswered');
});
