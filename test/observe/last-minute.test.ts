import { array, assert, double, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLastMinute, createProcessGauge } from '../../src/observe/process-figures.ts';
import { createRefusedCounter } from '../../src/observe/refused-deliveries.ts';
import type { RefusedDeliveries } from '../../src/store/reconcile/gaps.ts';

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

describe('the figures of a process', () => {
  it('are of what it answered, refused and stored, and of its queue', () => {
    const spool = { bytes: 9, segments: 2, oldestAt: Date.now() - 60_000 };
    const queueState = () => ({ works: false, failure: 'away', spool });
    const gauge = createProcessGauge({ receives: true, stores: true, queueState });
    gauge.answered(0.01);
    gauge.refused();
    gauge.refused();
    gauge.stored(300, 0.5);
    const began = performance.now();
    while (performance.now() - began < 60);
    const { answers, storing, spool: found, cpuPercent, queueWorks, ...others } = gauge.figures();
    const { perSecond = 0, refusedPerSecond = 0, p50Ms } = answers ?? {};
    const perAnswer = [refusedPerSecond, storing?.eventsPerSecond].map((rate = 0) => rate / perSecond);
    expect(perAnswer).toEqual([expect.closeTo(2, 0), expect.closeTo(300, -2)]);
    expect([p50Ms, storing?.p99Ms]).toEqual([expect.closeTo(10, 0), expect.closeTo(500, -1)]);
    expect(found).toEqual({ bytes: 9, segments: 2, oldestSeconds: expect.closeTo(60, 0) as unknown });
    expect(queueWorks).toBe(false);
    // It was busy all the time, unless others took the processor.
    expect(cpuPercent).toBeGreaterThan(5);
    expect(cpuPercent).toBeLessThan(1_000);
    expect(others.eventLoopDelayP99Ms).toBeLessThan(10_000);
    gauge.close();
  });

  it('are none of what it does not do', () => {
    const gauge = createProcessGauge({ receives: false, stores: false, queueState: () => undefined });
    expect(gauge.figures()).toMatchObject({ answers: null, storing: null, spool: null, queueWorks: null });
    gauge.close();
  });
});

it('refused deliveries are counted by source and type until they are recorded', async () => {
  const counter = createRefusedCounter();
  const recorded: (readonly RefusedDeliveries[])[] = [];
  const flush = () => counter.flush(async (refused) => void recorded.push(refused));
  await flush();
  counter.add('a', 'SMS_LOG_ALL');
  counter.add('b', 'SMS_LOG_ALL');
  await expect(counter.flush(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  const from = Date.now();
  while (Date.now() === from);
  counter.add('a', 'SMS_LOG_ALL');
  await flush();
  await flush();
  expect(recorded).toMatchObject([
    [
      { source: 'a', deliveries: 2 },
      { source: 'b', deliveries: 1 },
    ],
  ]);
  const [{ first, last } = { first: new Date(), last: new Date(0) }] = recorded[0] ?? [];
  expect([first.getTime() <= from, last.getTime() > from]).toEqual([true, true]);
});
