import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { functionTimes } from '../../bench/budget.ts';
import { readProcessorTime, usedBetween } from '../../bench/processor-time.ts';

const CHECKOUT = '/program/';

/** A profile whose functions call each other in turn; each has one sample of a millisecond. */
function profileOf(...functions: readonly (readonly [name: string, url: string])[]) {
  const nodes = functions.map(([functionName, url], index) => ({
    id: index + 1,
    callFrame: { functionName, url, lineNumber: 6 },
    children: index + 1 < functions.length ? [index + 2] : [],
  }));
  return { startTime: 0, nodes, samples: nodes.map(({ id }) => id), timeDeltas: nodes.map(() => 1_000) };
}

test('the functions of a profile share the processor time by room, package and module', () => {
  const profile = profileOf(
    ['(root)', ''],
    ['(idle)', ''],
    ['(program)', ''],
    ['(garbage collector)', ''],
    ['receiveDelivery', 'file:///program/src/ingest/receive-delivery.ts'],
    ['tableOf', 'file:///program/src/message-types.ts'],
    ['query', '/program/node_modules/pg-pool/index.js'],
    ['JSON.parse', ''],
    ['split', ''],
    ['writev', ''],
    ['next', '/program/node_modules/express/node_modules/router/index.js'],
    ['setHeader', 'node:_http_outgoing'],
    ['hash', 'node:internal/crypto/hash'],
  );
  const times = functionTimes(
    { main: profile, workers: [] },
    { mainThread: 120, threads: new Map() },
    CHECKOUT,
  );
  expect(Object.fromEntries(times.map(({ name, part }) => [name, part]))).toEqual({
    '(root)': 'native code (libuv, HTTP parser, system calls)',
    '(program)': 'native code (libuv, HTTP parser, system calls)',
    '(garbage collector)': 'garbage collection',
    receiveDelivery: 'src/ingest',
    tableOf: 'src',
    query: 'pg and Kysely',
    'JSON.parse': 'JSON',
    // A function of V8 counts to its caller.
    split: 'pg and Kysely',
    writev: 'socket writes',
    next: 'Express and router',
    setHeader: 'node:http',
    hash: 'crypto',
  });
  // Without the idle one, twelve functions share the time.
  expect(times.map(({ microseconds }) => Math.round(microseconds))).toEqual(Array.from(times, () => 10));
  expect(times.find(({ name }) => name === 'receiveDelivery')?.at).toBe('src/ingest/receive-delivery.ts:7');
});

test('a worker has the time of its thread, and functions are added up over the threads', () => {
  const profile = profileOf(
    ['(idle)', ''],
    ['toEvent', 'file:///program/src/handlers/delivery-to-events.ts'],
  );
  const times = functionTimes(
    { main: profile, workers: [profile, profile] },
    {
      mainThread: 10,
      threads: new Map([
        ['WorkerThread', 20],
        ['V8Worker', 500],
      ]),
    },
    CHECKOUT,
  );
  expect(times).toHaveLength(1);
  expect(times[0]).toMatchObject({ name: 'toEvent', part: 'src/handlers', microseconds: 30 });
});

test('the time of workers without samples is not lost', () => {
  const used = { mainThread: 10, threads: new Map([['WorkerThread', 20]]) };
  const times = functionTimes({ main: profileOf(['hash', 'node:crypto']), workers: [] }, used, CHECKOUT);
  expect(times.map(({ part, microseconds }) => [part, microseconds])).toEqual([
    ['crypto', 10],
    ['not sampled', 20],
  ]);
});

const Used = z.object({ user: z.number(), system: z.number() });

/** A process that is busy when told to, in itself and in a child, and prints the time that it took itself. */
const BUSY = `
  import { execFileSync } from 'node:child_process';
  process.stdin.once('data', () => {
    const started = process.cpuUsage();
    while (process.cpuUsage(started).user < 100_000);
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done']);
    console.log(JSON.stringify(process.cpuUsage(started)));
  });
  console.log('ready');
`;

test.runIf(process.platform === 'linux')('processor time is that of the operating system', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', BUSY]);
  onTestFinished(() => void worker.kill('SIGKILL'));
  const pid = worker.pid ?? 0;
  const answers = createInterface(worker.stdout)[Symbol.asyncIterator]();
  await answers.next();
  const before = await readProcessorTime(pid);
  worker.stdin.write('go\n');
  const { value } = await answers.next();
  const { user, system } = Used.parse(JSON.parse(z.string().parse(value)));
  const used = usedBetween(pid, before, await readProcessorTime(pid));
  const own = used.threads.values().reduce((sum, time) => sum + time, used.mainThread);
  // Each line of the operating system counts in whole hundredths of a second.
  const tolerance = 60_000;
  expect(Math.abs(own - user - system)).toBeLessThan(tolerance);
  expect(used.ofEndedChildren(pid)).toBeGreaterThan(0);
  expect(used.ofFamily(pid)).toBeGreaterThan(used.mainThread + used.ofEndedChildren(pid) - tolerance);
  expect(used.machine).toBeGreaterThan(own - tolerance);
});
