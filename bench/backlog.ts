import { mkdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { encodeBatch, newDeliveryId } from '../src/queue/delivery-batch.ts';
import type { QueuedDelivery } from '../src/queue/delivery-batch.ts';
import { newSegmentName } from '../src/queue/spool/ownership.ts';
import { framePayload } from '../src/queue/spool/segment-file.ts';
import { applyLoad } from './apply-load.ts';
import { drain } from './drain.ts';
import { measure } from './measure.ts';
import { watchMemory } from './memory.ts';
import { TARGETS } from './targets/all.ts';
import { openPlace } from './targets/target.ts';
import { fill, WORKLOADS } from './workloads.ts';

/** The results of draining a spooled backlog while new deliveries came in. */
export interface Backlog {
  /** Deliveries in the spool when the program started, one event each. */
  readonly deliveries: number;
  /** Rows per second that the program stores from a full load of new deliveries, without a backlog. */
  readonly steadyRowsPerSecond: number;
  /** Rows per second of the backlog alone, from the program's start to its last row. */
  readonly drainedRowsPerSecond: number;
  /** Deliveries per second that came in meanwhile, and the latency of their answers in milliseconds. */
  readonly liveRate: number;
  readonly p50: number;
  readonly p99: number;
  readonly peakMemory: number;
}

const TARGET = 'redis';
const WORKLOAD = 'audit-1';
const STEADY_SECONDS = 10;

/** New deliveries per second while the backlog drains: the rate that spools about a million in an hour. */
const LIVE_RATE = 280;

/** At that rate a batch has a few deliveries, not the hundreds of a full load. */
const DELIVERIES_PER_FRAME = 4;
const FRAMES_PER_SEGMENT = 2_500;

/** Fills the spool of a stopped program with a number of deliveries, starts the program, and measures how it drains them. */
export async function measureBacklog(deliveries: number, signal: AbortSignal): Promise<Backlog> {
  const { rowsPerSecond: steadyRowsPerSecond } = await measure(TARGET, WORKLOAD, STEADY_SECONDS, signal);
  await using place = await openPlace(signal);
  await fillSpool(path.join(place.dataDir, 'spool'), deliveries);
  const startedAt = Date.now();
  const running = await TARGETS[TARGET].start(place);
  using memory = watchMemory(running.pid);
  const countRows = () => running.countRows(WORKLOADS[WORKLOAD].messageType);

  // At the required rate the backlog is gone in twice the steady time, and the load lasts about as long.
  const seconds = Math.ceil(deliveries / steadyRowsPerSecond);
  const load = await applyLoad({ ...running, workload: WORKLOAD, seconds, rate: LIVE_RATE }, signal);
  const { rows, at } = await drain(countRows, deliveries + load.acknowledged, Infinity, signal);
  if (rows !== deliveries + load.acknowledged) {
    throw new Error(`Postgres has ${rows} rows instead of ${deliveries + load.acknowledged}`);
  }
  return {
    deliveries,
    steadyRowsPerSecond,
    drainedRowsPerSecond: (deliveries * 1_000) / (at - startedAt),
    liveRate: (load.acknowledged * 1_000) / (load.endedAt - load.startedAt),
    p50: load.p50,
    p99: load.p99,
    peakMemory: await memory.peak(),
  };
}

/** Writes the spool of a program that spooled for an hour and crashed. */
async function fillSpool(directory: string, deliveries: number): Promise<void> {
  const left = path.join(directory, 'left-behind');
  await mkdir(left, { recursive: true });
  const perSegment = DELIVERIES_PER_FRAME * FRAMES_PER_SEGMENT;
  const anHourAgo = Date.now() - 60 * 60 * 1_000;
  for (let from = 0; from < deliveries; from += perSegment) {
    const frames: Buffer[] = [];
    for (let first = from; first < Math.min(from + perSegment, deliveries); first += DELIVERIES_PER_FRAME) {
      const count = Math.min(DELIVERIES_PER_FRAME, deliveries - first);
      const batch = Array.from({ length: count }, (_, index) => spooled(first + index, anHourAgo));
      frames.push(framePayload(encodeBatch(batch)));
    }
    await writeFile(path.join(left, newSegmentName()), Buffer.concat(frames));
  }
  await utimes(left, 0, 0);
}

function spooled(number: number, receivedAt: number): QueuedDelivery {
  const { messageType, template } = WORKLOADS[WORKLOAD];
  const records = fill(template, 100_000_000 + number, receivedAt);
  return {
    deliveryId: newDeliveryId(receivedAt),
    source: 'default',
    messageType,
    receivedAt,
    origin: 'webhook',
    secretForm: 'bearer',
    bodyBytes: records.length,
    recordCount: 1,
    records,
    unreadable: [],
  };
}
