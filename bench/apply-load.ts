import { execFile } from 'node:child_process';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { authorizationOf, WORKLOAD_NAMES, WORKLOADS } from './workloads.ts';

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
  /** Latency of the answers, in milliseconds. */
  p50: z.number(),
  p99: z.number(),
});

export type LoadResult = z.infer<typeof LoadResult>;

/** The sender of a load without a rate. */
export type Sender = 'wrk' | 'autocannon';

const execute = promisify(execFile);

const LOAD = fileURLToPath(new URL('load.ts', import.meta.url));
const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Connections without an answer this long after the end are given up. */
const PATIENCE_SECONDS = 30;

/** wrk, which costs less, if it is on PATH. */
export async function chosenSender(): Promise<Sender> {
  try {
    await execute('wrk', ['--version']);
  } catch (error) {
    // It prints its version and ends with 1.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'autocannon';
  }
  return 'wrk';
}

/** Applies a load from a separate process, so sender and receiver share no event loop. */
export async function applyLoad(options: LoadOptions, signal: AbortSignal): Promise<LoadResult> {
  // wrk sends as fast as it can.
  if (options.rate === undefined && (await chosenSender()) === 'wrk') return applyWithWrk(options, signal);
  const { stdout } = await execute(process.execPath, [LOAD, JSON.stringify(options)], { signal });
  return LoadResult.parse(JSON.parse(stdout));
}

async function applyWithWrk(
  { origin, secret, workload, seconds }: LoadOptions,
  signal: AbortSignal,
): Promise<LoadResult> {
  await using directory = await mkdtempDisposable(path.join(os.tmpdir(), 'xiq-sink-load-'));
  const file = path.join(directory.path, 'workload.lua');
  const { messageType, form, template } = WORKLOADS[workload];
  const content = {
    path: `/ingest/default/${messageType}`,
    authorization: authorizationOf(form, secret),
    ...template,
  };
  await writeFile(file, `return ${toLua(content)}\n`);
  const options = {
    threads: '1',
    connections: String(CONNECTIONS),
    duration: `${Math.ceil(seconds) + PATIENCE_SECONDS}s`,
    timeout: `${PATIENCE_SECONDS}s`,
    script: SCRIPT,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const { stdout } = await execute('wrk', [...args, origin, file, String(CONNECTIONS), String(seconds)], {
    signal,
  });
  return LoadResult.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** A value as a Lua expression. Texts are printable ASCII, which JSON quotes as Lua does. */
function toLua(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `{${value.map(toLua).join(',')}}`;
  const members = Object.entries(value).map(([name, member]) => `${name}=${toLua(member)}`);
  return `{${members.join(',')}}`;
}
