import { describe, expect, it } from 'vitest';
import { createSchedule } from '../../src/reconcile/schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-01-15T12:07:00Z');
const at = (text: string) => Date.parse(`2026-01-${text}Z`);

/** Compares all that is due, and returns the ranges. */
function compareAll(schedule: ReturnType<typeof createSchedule>, now: number, longestMs = DAY) {
  const spans: { from: number; to: number }[] = [];
  for (let span = schedule.next(now, longestMs); span !== undefined; span = schedule.next(now, longestMs)) {
    spans.push(span);
    schedule.compared(span, now);
  }
  return spans;
}

const sum = (spans: readonly { from: number; to: number }[]) =>
  spans.reduce((total, { from, to }) => total + to - from, 0);

describe('a schedule', () => {
  it('begins with the newest, and compares each part of the last day once', () => {
    const spans = compareAll(createSchedule(NOW), NOW, 6 * HOUR);
    expect(spans[0]).toEqual({ from: at('15T06:15:00'), to: at('15T12:05:00') });
    expect(sum(spans)).toBe(at('15T12:05:00') - at('14T12:00:00'));
  });

  it('compares the last six hours in each round, because log records may be late, and the day every hour', () => {
    const schedule = createSchedule(NOW);
    compareAll(schedule, NOW);
    const next = NOW + 10 * MINUTE;
    expect(compareAll(schedule, next)).toEqual([{ from: at('15T06:00:00'), to: at('15T12:15:00') }]);
    expect(schedule.next(next + 5 * MINUTE, DAY)).toMatchObject({ from: at('15T12:15:00') });
    expect(sum(compareAll(schedule, NOW + HOUR))).toBeGreaterThan(23 * HOUR);
  });

  it('compares the time since it was down once', () => {
    const schedule = createSchedule(NOW - 3 * DAY);
    expect(sum(compareAll(schedule, NOW))).toBeGreaterThan(3 * DAY - HOUR);
    expect(sum(compareAll(schedule, NOW + 2 * HOUR))).toBeLessThan(DAY + HOUR);
  });

  it('gives every part its turn when the calls do not suffice for all', () => {
    const schedule = createSchedule(NOW);
    const compared = new Set<number>();
    for (let round = 0; round < 60; round += 1) {
      const now = NOW + round * 10 * MINUTE;
      for (let call = 0; call < 4; call += 1) {
        const span = schedule.next(now, HOUR);
        if (span === undefined) break;
        schedule.compared(span, now);
        for (let quarter = span.from; quarter < span.to; quarter += HOUR / 4) compared.add(quarter);
      }
    }
    for (let quarter = at('14T18:00:00'); quarter < at('15T21:00:00'); quarter += HOUR / 4) {
      expect(compared).toContain(quarter);
    }
  });
});
