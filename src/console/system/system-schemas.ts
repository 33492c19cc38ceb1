import { z } from 'zod';
import { partProblem } from '../gather.ts';

const time = z.string().describe('ISO 8601, UTC');
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
    waiting: number,
    active: number,
    delayed: number,
    failed: number,
    oldest_waiting_seconds: number.nullable(),
  })
  .meta({ id: 'Queue', description: 'Jobs by state' });

const spool = z
  .object({ bytes: number, segments: number, oldest_seconds: number })
  .meta({ id: 'Spool', description: 'Deliveries on the disks of all ingest processes' });

/** A process as it reports itself. */
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
