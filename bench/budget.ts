import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyLoad } from './apply-load.ts';
import { drain } from './drain.ts';
import { readProcessorTime, usedBetween } from './processor-time.ts';
import type { UsedTime } from './processor-time.ts';
import { connectProfiler } from './profiler.ts';
import type { CpuProfile } from './profiler.ts';
import { TARGETS } from './targets/all.ts';
import { openPlace } from './targets/target.ts';
import type { RunningTarget } from './targets/target.ts';
import { THIS_CHECKOUT } from './targets/xiq-sink.ts';
import { WORKLOADS } from './workloads.ts';
import type { WorkloadName } from './workloads.ts';
import { freePort } from '../test/support/free-port.ts';

export const BUDGET_TARGETS = ['redis', 'embedded'] as const;
export const BUDGET_WORKLOADS = ['audit-1', 'audit-20'] as const satisfies readonly WorkloadName[];

/** A program whose processor time is shown in one line, or one part of a program. */
export interface Part {
  readonly name: string;
  /** Microseconds of processor time per delivery. */
  readonly microseconds: number;
}

/** A function of the program's main thread, without the functions that it calls. */
export interface FunctionTime extends Part {
  /** The part that the function counts to. */
  readonly part: string;
  /** File and line; empty for functions of V8 and of Node.js in C++. */
  readonly at: string;
}

/** The processor time of one delivery. */
export interface Budget {
  readonly target: (typeof BUDGET_TARGETS)[number];
  readonly workload: WorkloadName;
  /** Deliveries that were measured, and answered per second. */
  readonly deliveries: number;
  readonly deliveriesPerSecond: number;
  /** The program's own process by part, largest first; the sum is that of `program`. */
  readonly parts: readonly Part[];
  readonly program: number;
  /** Postgres, Redis, the sender, the kernel's threads, and the rest of the machine. */
  readonly others: readonly Part[];
  /** The functions that take most time, largest first. */
  readonly functions: readonly FunctionTime[];
}

/** After this time the code is compiled and caches are warm. */
const WARM_UP_SECONDS = 5;

/** Functions in the report. */
const FUNCTIONS = 60;

/**
 * Loads one target, profiles its main thread, and reads the processor time of all processes from the operating system,
 * from the first delivery to the last stored row.
 */
export async function measureBudget(
  target: Budget['target'],
  workload: WorkloadName,
  seconds: number,
  signal: AbortSignal,
  checkout = THIS_CHECKOUT,
): Promise<Budget> {
  await using place = await openPlace(signal);
  const port = await freePort();
  const settings = { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
  const running = await TARGETS[target].start(place, { checkout, settings });
  const profiler = await connectProfiler(port);
  const { messageType, rows, warmUp } = WORKLOADS[workload];
  const countRows = () => running.countRows(messageType);
  const warm = await applyLoad({ ...running, workload: warmUp, seconds: WARM_UP_SECONDS }, signal);
  const before = await drain(countRows, warm.acknowledged * WORKLOADS[warmUp].rows, Infinity, signal);

  await profiler.start();
  const start = await readProcessorTime(running.pid);
  const load = await applyLoad({ ...running, workload, seconds }, signal);
  const expected = before.rows + load.acknowledged * rows;
  const stored = await drain(countRows, expected, Infinity, signal);
  const end = await readProcessorTime(running.pid);
  const profile = await profiler.stop();
  if (stored.rows !== expected) throw new Error(`Postgres has ${stored.rows} rows instead of ${expected}`);

  const used = usedBetween(running.pid, start, end);
  const perDelivery = (microseconds: number) => microseconds / load.acknowledged;
  const functions = functionTimes(profile, used.mainThread, checkout);
  const parts = [...partsOf(functions), ...threadParts(used)];
  return {
    target,
    workload,
    deliveries: load.acknowledged,
    deliveriesPerSecond: (load.acknowledged * 1_000) / (load.endedAt - load.startedAt),
    program: perDelivery(sumOf(parts)),
    parts: largestFirst(parts, perDelivery),
    others: otherParts(used, running, sumOf(parts)).map((part) => scaled(part, perDelivery)),
    functions: largestFirst(functions, perDelivery).slice(0, FUNCTIONS),
  };
}

function largestFirst<P extends Part>(parts: readonly P[], scale: Scale): readonly P[] {
  return parts.map((part) => scaled(part, scale)).sort((a, b) => b.microseconds - a.microseconds);
}

type Scale = (microseconds: number) => number;

const scaled = <P extends Part>(part: P, scale: Scale): P => ({
  ...part,
  microseconds: scale(part.microseconds),
});

/** What the threads beside the main thread are for. */
const THREADS: Readonly<Record<string, string>> = {
  V8Worker: 'V8 threads (garbage collection, compiler)',
  'libuv-worker': 'libuv threads (files, crypto)',
};

function threadParts({ threads }: UsedTime): readonly Part[] {
  const parts = [...threads].map(([name, microseconds]) => ({
    name: THREADS[name] ?? `thread ${name}`,
    microseconds,
  }));
  return parts.filter(({ microseconds }) => microseconds > 0);
}

/** Everything but the program. The rest of the machine contains this benchmark, and all else that runs on it. */
function otherParts(used: UsedTime, { servers }: RunningTarget, program: number): readonly Part[] {
  const parts = [
    ...Object.entries(servers).map(([name, id]) => ({ name, microseconds: used.ofFamily(id) })),
    { name: 'sender', microseconds: used.ofEndedChildren(process.pid) },
    { name: 'kernel threads', microseconds: used.kernel.values().reduce((sum, time) => sum + time, 0) },
  ];
  return [...parts, { name: 'rest of the machine', microseconds: used.machine - program - sumOf(parts) }];
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { microseconds }) => sum + microseconds, 0);
}

/** The sums of the functions by part. */
function partsOf(functions: readonly FunctionTime[]): readonly Part[] {
  return [...Map.groupBy(functions, ({ part }) => part)].map(([name, ofPart]) => ({
    name,
    microseconds: sumOf(ofPart),
  }));
}

/**
 * The functions of a profile with their own time. A profile counts samples at fixed intervals, also while the thread
 * waits for a processor, so the samples share the thread's processor time as the operating system measured it.
 */
export function functionTimes(
  { nodes, samples, timeDeltas }: CpuProfile,
  processorTime: number,
  checkout: string,
): readonly FunctionTime[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const sampled = new Map<number, number>();
  samples.forEach((id, index) => {
    if (byId.get(id)?.callFrame.functionName === '(idle)') return;
    sampled.set(id, (sampled.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  });
  const scale = processorTime / sampled.values().reduce((sum, time) => sum + time, 0);

  const functions = new Map<string, FunctionTime>();
  for (const [id, time] of sampled) {
    const node = byId.get(id);
    if (node === undefined) continue;
    const { functionName, url, lineNumber } = node.callFrame;
    const part = partOf(functionName, callersOf(id), checkout);
    const at = url === '' ? '' : `${nameOf(url, checkout)}:${lineNumber + 1}`;
    const key = `${part} ${functionName} ${at}`;
    const microseconds = (functions.get(key)?.microseconds ?? 0) + time * scale;
    functions.set(key, { name: functionName || '(anonymous)', part, at, microseconds });
  }
  return [...functions.values()];

  /** The address of the function and of its callers, nearest first. */
  function callersOf(id: number): readonly string[] {
    const urls: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      urls.push(byId.get(at)?.callFrame.url ?? '');
    }
    return urls;
  }
}

/** Functions of V8 and of Node.js in C++ that are parts of their own. All others count to their caller. */
const NATIVE: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'native code (libuv, HTTP parser, system calls)',
  'JSON.parse': 'JSON',
  'JSON.stringify': 'JSON',
  writev: 'socket writes',
  writeBuffer: 'socket writes',
  writeUtf8String: 'socket writes',
  writeLatin1String: 'socket writes',
  writeAsciiString: 'socket writes',
};

function partOf(functionName: string, urls: readonly string[], checkout: string): string {
  const native = urls[0] === '' ? NATIVE[functionName] : undefined;
  if (native !== undefined) return native;
  const url = urls.find((one) => one !== '');
  return url === undefined
    ? 'native code (libuv, HTTP parser, system calls)'
    : partOfFile(nameOf(url, checkout));
}

/** The path in the checkout, or in its packages; the address of a module of Node.js. */
function nameOf(url: string, checkout: string): string {
  if (url.startsWith('node:')) return url;
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  const inPackages = file.lastIndexOf('node_modules/');
  return inPackages === -1 ? path.relative(checkout, file) : file.slice(inPackages);
}

/** The packages of a part. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  'Express and router':
    /^(?:express|router|helmet|raw-body|body-parser|finalhandler|parseurl|proxy-addr|path-to-regexp|on-finished|vary|etag|fresh|qs)$/,
  'BullMQ and ioredis':
    /^(?:bullmq|ioredis|@ioredis|redis-parser|msgpackr|standard-as-callback|denque|cluster-key-slot)$/,
  'pg and Kysely': /^(?:pg|pg-.*|postgres-.*|kysely)$/,
  zod: /^zod$/,
};

function partOfFile(name: string): string {
  if (name.startsWith('node:')) {
    if (/crypto/.test(name)) return 'crypto';
    if (/^node:(?:_http|http|internal\/http)/.test(name)) return 'node:http';
    return /^node:(?:net|stream|internal\/stream)/.test(name)
      ? 'node:net and streams'
      : 'node: other modules';
  }
  const [, ofPackage] = /^node_modules\/([^/]+)/.exec(name) ?? [];
  if (ofPackage !== undefined) {
    return Object.keys(PACKAGES).find((part) => PACKAGES[part]?.test(ofPackage)) ?? 'other packages';
  }
  const [root, room, ...rest] = name.split('/');
  return rest.length > 0 ? `${root}/${room}` : (root ?? name);
}
