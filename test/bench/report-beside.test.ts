import { expect, test } from 'vitest';
import type { Measurement } from '../../bench/measure.ts';
import { formatBeside } from '../../bench/report-beside.ts';

const measured: Measurement = {
  target: 'redis',
  workload: 'audit-1',
  deliveriesPerSecond: 2_000,
  rowsPerSecond: 2_000,
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
  drainSeconds: 1,
};

const format = (full: Partial<Measurement>) =>
  formatBeside({
    events: 10_000_000,
    droppedEvents: 800_000,
    storing: { empty: [measured], full: [{ ...measured, ...full }] },
    waits: {
      empty: [
        { name: 'overview', times: 50, p50: 10, p95: 20 },
        { name: 'drop of a month', times: 1, p50: 100, p95: 100 },
      ],
      full: [
        { name: 'overview', times: 50, p50: 15, p95: 50 },
        { name: 'drop of a month', times: 1, p50: 1_500, p95: 1_500 },
      ],
    },
  });

test('ratios are of the full database to the empty one', () => {
  const lines = format({ rowsPerSecond: 1_500 })
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));
  expect(lines).toContainEqual(['rows/s', '2,000', '1,500', '0.75']);
  expect(lines).toContainEqual(['Postgres us', '40.0', '40.0', '1.00']);
  expect(lines).toContainEqual(['overview, p95 of 50', '20.0', '50.0', '2.50']);
});

test('what is done once has one line', () => {
  expect(format({}).match(/^drop of a month.*$/gm)).toEqual([
    expect.stringMatching(/100\.0 +1,500 +15\.00$/),
  ]);
});

test('runs with other rows than were acknowledged are reported', () => {
  expect(format({})).not.toContain('WRONG');
  expect(format({ storedRows: 19_999 })).toContain('1 run with WRONG rows');
});
