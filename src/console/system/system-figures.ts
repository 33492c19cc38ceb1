import { z } from 'zod';
import { partProblem } from '../page-parts.ts';
import type { ProcessFigures, ReportedProcess } from '../../store/server/processes.ts';
import type { StorageSize } from '../../store/server/storage-size.ts';
import { isoTime, numbers } from '../api/parameters.ts';
import { toAnswer } from '../api/route.ts';

const time = isoTime.describe('ISO 8601, UTC');
const text = z.string();
const number = z.number();

const answers = z
  .object({
    processes: number,
    per_second: number,
    refused_per_second: number,
    p50_ms: number.describe('of all processes, weighted by their rates'),
    p99_ms: number.describe('of the slowest process'),
  })
  .meta({ id: 'Answers', description: 'Answers of the ingest processes in the last minute' });

const storing = z
  .object({ processes: number, events_per_second: number, p50_ms: number, p99_ms: number })
  .meta({ id: 'Storing', description: 'Transactions of the worker processes in the last minute' });

const queue = z
  .object({
    ...numbers('waiting', 'active', 'delayed', 'failed'),
    oldest_waiting_seconds: number.nullable(),
  })
  .meta({ id: 'Queue', description: 'Jobs by state' });

const spool = z
  .object({ bytes: number, segments: number, oldest_seconds: number })
  .meta({ id: 'Spool', description: 'Deliveries on the disks of all ingest processes' });

export const processSchema = z
  .object({
    process_id: text,
    role: text,
    host: text,
    pid: number,
    version: text,
    started_at: time,
    seen_at: time,
    is_alive: z.boolean(),
    memory_bytes: number.nullable(),
    event_loop_delay_p99_ms: number.nullable(),
    cpu_percent: number.nullable(),
  })
  .meta({
    id: 'Process',
    description: 'A process that reported in the last day; figures are null if it reports none',
  });

const storage = z
  .object({
    database_bytes: number,
    default_rows: number.describe('rows in default partitions, counted up to a limit'),
    partitions: z.array(
      z.object({
        family: text,
        partition: text,
        month: text.nullable(),
        rows: number.nullable().describe('an estimate; null if there is none yet'),
        bytes: number,
      }),
    ),
    archived_months: z.array(
      z.object({
        table: text,
        month: text,
        rows: number,
        bytes: number.describe('of the files'),
        table_bytes: number.describe('their former size in the database'),
      }),
    ),
  })
  .meta({ id: 'Storage' });

/** The machinery: a part that could not be read is null and listed in `problems`. */
export const systemSchema = z
  .object({
    at: time,
    answers: answers.nullable(),
    storing: storing.nullable(),
    queue: queue.nullable(),
    spool: spool.nullable(),
    processes: z.array(processSchema).nullable(),
    storage: storage.nullable(),
    free_disk_bytes: number.nullable(),
    problems: z.array(partProblem),
  })
  .meta({ id: 'System' });

export type System = z.input<typeof systemSchema>;
export type ProcessLine = z.input<typeof processSchema>;
export type Storage = z.input<typeof storage>;

/** The answers of all ingest processes in the last minute; null if there is none. */
export const sumAnswers = (processes: readonly ReportedProcess[]): System['answers'] =>
  sumFigures(processes, 'answers', (all) => ({
    processes: all.length,
    per_second: sum(all.map(({ perSecond }) => perSecond)),
    refused_per_second: sum(all.map(({ refusedPerSecond }) => refusedPerSecond)),
    ...percentiles(all, ({ perSecond }) => perSecond),
  }));

/** The transactions of all worker processes in the last minute; null if there is none. */
export const sumStoring = (processes: readonly ReportedProcess[]): System['storing'] =>
  sumFigures(processes, 'storing', (all) => ({
    processes: all.length,
    events_per_second: sum(all.map(({ eventsPerSecond }) => eventsPerSecond)),
    ...percentiles(all, ({ eventsPerSecond }) => eventsPerSecond),
  }));

/** The spools of all running processes; null if there is none. A process that stopped may have left one: see its row. */
export const sumSpools = (processes: readonly ReportedProcess[]): System['spool'] =>
  sumFigures(processes, 'spool', (all) => ({
    bytes: sum(all.map(({ bytes }) => bytes)),
    segments: sum(all.map(({ segments }) => segments)),
    oldest_seconds: Math.max(...all.map(({ oldestSeconds }) => oldestSeconds)),
  }));

export function processLine(process: ReportedProcess): ProcessLine {
  const { figures, ...line } = process;
  return {
    ...line,
    memory_bytes: figures?.memoryBytes ?? null,
    event_loop_delay_p99_ms: figures?.eventLoopDelayP99Ms ?? null,
    cpu_percent: figures?.cpuPercent ?? null,
  };
}

/** Only of running processes: the last report of a stopped one is out of date. */
function sumFigures<Name extends 'answers' | 'storing' | 'spool', Sum>(
  processes: readonly ReportedProcess[],
  name: Name,
  sumUp: (all: readonly NonNullable<ProcessFigures[Name]>[]) => Sum,
): Sum | null {
  const all = processes.flatMap(({ is_alive: isAlive, figures }) => (isAlive && figures?.[name]) || []);
  return all.length === 0 ? null : sumUp(all);
}

/** Percentiles cannot be added up: the weighted mean of the p50s, and the highest p99. */
function percentiles<T extends { readonly p50Ms: number; readonly p99Ms: number }>(
  rates: readonly T[],
  weightOf: (rate: T) => number,
) {
  const weights = sum(rates.map(weightOf));
  const middle = sum(rates.map((rate) => rate.p50Ms * weightOf(rate)));
  return {
    p50_ms: weights === 0 ? 0 : middle / weights,
    p99_ms: Math.max(...rates.map(({ p99Ms }) => p99Ms)),
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** The size of the database, and of its partitions that were ever used, for the API. */
export const sumStorage = (storage: StorageSize): Storage => ({
  ...toAnswer(storage),
  partitions: storage.partitions.filter(({ isUsed }) => isUsed),
  archived_months: storage.archivedMonths.map(toAnswer),
});
