import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
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
  return { nodes, samples: nodes.map(({ id }) => id), timeDeltas: nodes.map(() => 1_000) };
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
  const times = functionTimes(profile, 120, CHECKOUT);
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

test.runIf(process.platform === 'linux')('processor time is that of the operating system', async () => {
  const { pid } = process;
  const before = await readProcessorTime(pid);
  const started = process.cpuUsage();
  while (process.cpuUsage(started).user < 100_000);
  execFileSync('sh', ['-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done']);
  const { user, system } = process.cpuUsage(started);
  const used = usedBetween(pid, before, await readProcessorTime(pid));
  const own = used.threads.values().reduce((sum, time) => sum + time, used.mainThread);
  const tolerance = 60_000;
  expect(Math.abs(own - user - system)).toBeLessThan(tolerance);
  expect(used.ofEndedChildren(pid)).toBeGreaterThan(0);
  expect(used.ofFamily(pid)).toBeGreaterThanOrEqual(used.mainThread + used.ofEndedChildren(pid));
  expect(used.machine).toBeGreaterThan(own - tolerance);
});
