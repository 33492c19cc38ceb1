import { expect, test } from 'vitest';
import { createLatencies } from '../../bench/latencies.ts';

test('a percentile is the time that so many answers do not exceed', () => {
  const latencies = createLatencies();
  for (let milliseconds = 1; milliseconds <= 100; milliseconds += 1) latencies.add(milliseconds);
  expect(latencies.count()).toBe(100);
  expect(latencies.percentile(50)).toBe(50);
  expect(latencies.percentile(99)).toBe(99);
});

test('a time is rounded up to a tenth of a millisecond, never down', () => {
  const latencies = createLatencies();
  latencies.add(0.01);
  expect(latencies.percentile(50)).toBe(0.1);
});

test('a time beyond the longest step is still counted', () => {
  const latencies = createLatencies();
  latencies.add(3_600_000);
  expect(latencies.percentile(99)).toBe(60_000);
});
