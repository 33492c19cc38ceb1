import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { WORKLOAD_NAMES } from './workloads.ts';

/** Concurrent connections. Each sends its next delivery once the last is answered. */
export const CONNECTIONS = 64;

/** The options of the load's process. */
export const LoadOptions = z.object({
  /** The origin of the URL that deliveries are sent to. */
  origin: z.string(),
  secret: z.string(),
  workload: z.enum(WORKLOAD_NAMES),
  seconds: z.number(),
  /** Deliveries per second; without it, as fast as they are answered. */
  rate: z.number().optional(),
});

export type LoadOptions = z.infer<typeof LoadOptions>;

/** The results of the load's process. */
const LoadResult = z.object({
  /** Epoch milliseconds of the first byte and of the last answer. */
  startedAt: z.number(),
  endedAt: z.number(),
  /** Deliveries answered with 2xx. */
  acknowledged: z.number(),
  /** Deliveries answered with another status, and unanswered ones. */
  refused: z.number(),
  unanswered: z.number(),
  /** Latency of the acknowledged deliveries, in milliseconds. */
  p50: z.number(),
  p99: z.number(),
});

export type LoadResult = z.infer<typeof LoadResult>;

const LOAD = fileURLToPath(new URL('load.ts', import.meta.url));

/** Applies a load from a separate process, so sender and receiver share no event loop. */
export async function applyLoad(options: LoadOptions, signal: AbortSignal): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, JSON.stringify(options)], { signal });
  return LoadResult.parse(JSON.parse(stdout));
}
