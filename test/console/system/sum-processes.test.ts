import { expect, test } from 'vitest';
import { sumAnswers, sumSpools, sumStoring } from '../../../src/console/system/system-figures.ts';
import type { ProcessFigures, ReportedProcess } from '../../../src/store/server/processes.ts';

const IDLE: ProcessFigures = {
  answers: null,
  spool: null,
  queueWorks: null,
  storing: null,
  memoryBytes: 1,
  eventLoopDelayP99Ms: 1,
  cpuPercent: 1,
};

const PROCESS = {
  process_id: 'a',
  role: 'all',
  host: 'h',
  pid: 1,
  version: '0',
  started_at: new Date(0),
  seen_at: new Date(0),
};

const processWith = (figures: Partial<ProcessFigures> | null, isAlive = true) =>
  ({ ...PROCESS, is_alive: isAlive, figures: figures && { ...IDLE, ...figures } }) satisfies ReportedProcess;

const answering = (perSecond: number, p50Ms: number, p99Ms: number) => ({
  answers: { perSecond, p50Ms, p99Ms, refusedPerSecond: 0.5 },
});

test('rates of several processes add up, the middle is weighted by them, the slowest gives the 99th percentile', () => {
  const processes = [
    processWith(answering(30, 2, 10)),
    processWith(answering(10, 6, 80)),
    processWith({ storing: { eventsPerSecond: 5, p50Ms: 1, p99Ms: 2 } }),
  ];
  expect(sumAnswers(processes)).toEqual({
    processes: 2,
    per_second: 40,
    refused_per_second: 1,
    p50_ms: 3,
    p99_ms: 80,
  });
  expect(sumStoring(processes)).toMatchObject({ processes: 1, events_per_second: 5, p99_ms: 2 });
});

test('what a dead process last said, and what another version wrote, does not count', () => {
  expect(sumAnswers([processWith(answering(30, 2, 10), false), processWith(null)])).toBeNull();
});

test('processes that had nothing to do have a time of 0, not of nothing by nothing', () => {
  expect(sumAnswers([processWith(answering(0, 0, 0))])).toMatchObject({ p50_ms: 0 });
});

test('spools of several processes add up, the oldest of all counts', () => {
  const spool = (bytes: number, oldestSeconds: number) =>
    processWith({ spool: { bytes, segments: 1, oldestSeconds } });
  expect(sumSpools([spool(100, 5), spool(50, 60)])).toEqual({ bytes: 150, segments: 2, oldest_seconds: 60 });
  expect(sumSpools([processWith({})])).toBeNull();
});
