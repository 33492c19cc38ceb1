import { z } from 'zod';
import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../domain.ts';

const messageType = z.enum([...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE]);
const time = z.string().describe('ISO 8601, UTC');
const text = z.string();
const number = z.number();

const check = z
  .object({ name: text, state: text, why: text })
  .meta({ id: 'Check', description: 'The state of a part of the service: ok, unknown, or a problem' });

const health = z
  .object({
    status: z.enum(['ok', 'degraded', 'unavailable']),
    sentence: text,
    reasons: z.array(
      z.object({
        what: text,
        why: text,
        page: text.describe('path of the page that helps to fix it'),
      }),
    ),
    checks: z.array(check),
  })
  .meta({ id: 'Health' });

const amount = z.object({ deliveries: number, events: number });

const arrived = z
  .object({ message_type: messageType, hour: amount, day: amount, week: amount })
  .meta({ id: 'Arrived', description: 'Deliveries and events of the last hour, day and week' });

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

const destination = z
  .object({
    name: text,
    state: z.enum(['running', 'paused', 'refused']),
    behind_count: number.describe('backlog in events'),
    behind_since: time.nullable(),
    rejected_count: number,
    last_sent_at: time.nullable(),
    last_error: text.nullable(),
  })
  .meta({ id: 'DestinationLag' });

/** Whether a silence is unusual. */
export const silenceSchema = z
  .object({
    source: text,
    message_type: messageType,
    last_received_at: time.nullable(),
    state: z.enum(['usual', 'unusual', 'unknown', 'never']),
    sentence: text,
  })
  .meta({ id: 'Silence' });

/** Whether every acknowledged record is accounted for. */
export const conservationSchema = z
  .object({
    adds_up: z.boolean(),
    items: z.array(
      z.object({
        source: text,
        message_type: messageType,
        deliveries: number,
        expected: number,
        events: number,
        duplicates: number,
        quarantined: number,
        unbalanced: number.describe('deliveries whose own counts do not add up'),
        missing: number.describe('events whose rows are gone without a reason on record'),
        altered: number.describe('events whose rows differ from what was sealed'),
        adds_up: z.boolean(),
        last_received_at: time,
      }),
    ),
  })
  .meta({ id: 'Conservation', description: 'expected = events + duplicates + quarantined' });

const quarantine = z
  .object({ open_count: number, is_more: z.boolean(), oldest_received_at: time.nullable() })
  .meta({ id: 'OpenQuarantine' });

const storage = z
  .object({
    database_bytes: number,
    default_rows: number.describe('rows in default partitions, counted up to a limit'),
    families: z.array(
      z.object({
        family: text,
        rows: number.nullable().describe('an estimate; null if there is none yet'),
        bytes: number,
        oldest_month: text.nullable(),
        newest_month: text.nullable(),
      }),
    ),
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

/** The overview without the chart. A part that could not be read is null and listed in `problems`. */
export const overviewSchema = z
  .object({
    at: time,
    health,
    has_arrived: z.boolean().nullable(),
    sources: z.array(text),
    arrived: z.array(arrived).nullable(),
    answers: answers.nullable(),
    storing: storing.nullable(),
    queue: queue.nullable(),
    spool: spool.nullable(),
    processes: z.array(processSchema).nullable(),
    destinations: z.array(destination).nullable(),
    silences: z.array(silenceSchema).nullable(),
    conservation: conservationSchema.nullable(),
    quarantine: quarantine.nullable(),
    storage: storage.nullable(),
    free_disk_bytes: number.nullable(),
    problems: z.array(z.object({ part: text, why: text })),
  })
  .meta({ id: 'Overview' });

/** The overview. */
export type Overview = z.input<typeof overviewSchema>;
export type ProcessLine = z.input<typeof processSchema>;
export type Silence = z.input<typeof silenceSchema>;
export type Conservation = z.input<typeof conservationSchema>;
export type Storage = z.input<typeof storage>;
export type Health = z.input<typeof health>;
export type Arrived = z.input<typeof arrived>;

/** Arrivals by time and message type; empty buckets are left out. */
export const arrivalsSchema = z
  .object({
    since: time,
    until: time,
    bucket_seconds: number,
    items: z.array(
      z.object({
        bucket: time,
        message_type: messageType,
        deliveries: number,
        records: number,
        events: number,
        duplicates: number,
        quarantined: number,
        bytes: number,
      }),
    ),
  })
  .meta({ id: 'Arrivals' });

export type Arrivals = z.input<typeof arrivalsSchema>;
