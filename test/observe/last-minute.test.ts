import { array, assert, double, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLastMinute } from '../../src/observe/process-figures.ts';

/** A clock that the test moves, in milliseconds. */
function createClock(at = 0) {
  return {
    now: () => at,
    pass: (seconds: number) => {
      at += seconds * 1000;
    },
  };
}

describe('the last minute', () => {
  it('is empty at the start', () => {
    expect(createLastMinute(createClock().now).summary()).toEqual({ perSecond: 0, p50Ms: 0, p99Ms: 0 });
  });

  it('gives percentiles to within a tenth, whatever the durations', () => {
    const seconds = double({ min: 0.0001, max: 100, noNaN: true });
    assert(
      property(array(seconds, { minLength: 1, maxLength: 300 }), (durations) => {
        const { now, pass } = createClock(123_456);
        const minute = createLastMinute(now);
        for (const duration of durations) minute.add(duration);
        pass(1);
        const sorted = durations.toSorted((a, b) => a - b);
        const exact = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0) * 1000;
        const { p50Ms, p99Ms } = minute.summary();
        for (const [found, right] of [
          [p50Ms, exact(0.5)],
          [p99Ms, exact(0.99)],
        ] as const) {
          expect(found).toBeGreaterThanOrEqual(right * 0.999);
          expect(found).toBeLessThanOrEqual(right * 1.1);
        }
      }),
    );
  });

  it('gives the rate since the start, and later that of the last minute', () => {
    const { now, pass } = createClock(7_000);
    const minute = createLastMinute(now);
    for (let second = 0; second < 10; second += 1) {
      minute.add(0.01, 20);
      pass(1);
    }
    expect(minute.summary().perSecond).toBeCloseTo(20);
    for (let second = 0; second < 300; second += 1) {
      minute.add(0.01, 5);
      pass(1);
    }
    expect(minute.summary().perSecond).toBeCloseTo(5, 0);
  });

  it('forgets what is over, also after a long silence', () => {
    const { now, pass } = createClock(1_000_000);
    const minute = createLastMinute(now);
    minute.add(2, 100);
    pass(61);
    expect(minute.summary()).toEqual({ perSecond: 0, p50Ms: 0, p99Ms: 0 });
    pass(3_600);
    minute.add(0.5, 1);
    expect(minute.summary().p99Ms).toBeLessThan(560);
  });
});
