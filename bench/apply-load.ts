import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { WORKLOAD_NAMES } from './workloads.ts';

/** Connections that send at the same time, each its next delivery once the last is answered. */
export const CONNECTIONS = 64;

/** What the load's process is told. */
export const LoadOptions = z.object({
  /** Where deliveries go, without path. */
  origin: z.string(),
  secret: z.string(),
  workload: z.enum(WORKLOAD_NAMES),
  seconds: z.number(),
  /** Deliveries a second; as fast as they are answered when it is left out. */
  rate: z.number().optional(),
});

export type LoadOptions = z.infer<typeof LoadOptions>;

/** What the load's process saw. */
const LoadResult = z.object({
  /** Epoch milliseconds of the first byte and of the last answer. */
  startedAt: z.number(),
  endedAt: z.number(),
  /** Deliveries answered with 2xx. */
  acknowledged: z.number(),
  /** Deliveries answered otherwise, and those that got no answer. */
  refused: z.number(),
  unanswered: z.number(),
  /** Time from request to answer, of the acknowledged, in milliseconds. */
  p50: z.number(),
  p99: z.number(),
});

export type LoadResult = z.infer<typeof LoadResult>;

const LOAD = fileURLToPath(new URL('load.ts', import.meta.url));

/** Applies a load from a process of its own, so that sender and receiver share no event loop. */
export async function applyLoad(options: LoadOptions, signal: AbortSignal): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, JSON.stringify(options)], { signal });
  return LoadResult.parse(JSON.parse(stdout));
}
