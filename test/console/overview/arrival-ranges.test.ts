import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseBuckets } from '../../../src/console/overview/arrivals.ts';

const NOW = Date.parse('2026-06-15T12:34:56.789Z');
const MINUTE = 60_000;

test('whole buckets cover all of the stretch that was asked for, and little more', () => {
  const instant = fc.integer({ min: NOW - 400 * 24 * 60 * MINUTE, max: NOW });
  fc.assert(
    fc.property(instant, fc.integer({ min: 1, max: 90 * 24 * 60 * MINUTE }), (from, length) => {
      const range = chooseBuckets({ since: new Date(from), until: new Date(from + length) }, NOW);
      const width = range.bucketSeconds * 1000;
      expect(width % MINUTE).toBe(0);
      expect(range.since.getTime() % width).toBe(0);
      expect(range.until.getTime() % width).toBe(0);
      expect(from - range.since.getTime()).toBeGreaterThanOrEqual(0);
      expect(from - range.since.getTime()).toBeLessThan(width);
      expect(range.until.getTime() - from - length).toBeGreaterThanOrEqual(0);
      expect(range.until.getTime() - from - length).toBeLessThan(width);
    }),
  );
});

test.each([
  ['an hour', 60, 60],
  ['a day', 24 * 60, 900],
  ['a week', 7 * 24 * 60, 7_200],
])('%s is shown in buckets that a chart has room for', (_, minutes, bucketSeconds) => {
  const range = chooseBuckets({ since: new Date(NOW - minutes * MINUTE), until: new Date(NOW) }, NOW);
  expect(range.bucketSeconds).toBe(bucketSeconds);
});

test('what is older than 14 days is asked for by the hour, for no more is known', () => {
  const since = new Date(NOW - 20 * 24 * 60 * MINUTE);
  expect(chooseBuckets({ since, until: new Date(since.getTime() + 60 * MINUTE) }, NOW).bucketSeconds).toBe(
    3_600,
  );
});

test('an empty stretch is refused', () => {
  const now = new Date(NOW);
  expect(() => chooseBuckets({ since: now, until: now }, NOW)).toThrow('until must be later than since');
});
