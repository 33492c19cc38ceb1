import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLoad } from '../support/redis-load.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { describeError } from '../../src/lib/errors.ts';
import { inspectQueue } from '../../src/queue/batch-queue.ts';
import { waitFor } from '../support/wait-for.ts';
import { connectRedis } from '../../src/queue/redis-client.ts';
import { checkRights } from '../../src/queue/redis-rights.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** The rights that documentation asks for. */
const ENOUGH = ['+@all', '-@admin', '-@dangerous', '+info', '~bull:*'];

let users = 0;

/** A user with enough rights, and these on top. */
async function createUser(...rights: string[]) {
  users += 1;
  const user = `user${users}`;
  await redis.command('ACL', 'SETUSER', user, 'on', '>secret', ...ENOUGH, ...rights);
  const url = redis.url.replace('//', `//${user}:secret@`);
  return { user, url };
}

it('a user with the documented rights can do everything', async () => {
  const { url } = await createUser();
  const load = await openLoad({ kind: 'redis', url });
  load.startWorker();
  await load.send();
  await waitFor(() => load.missing() === 0);
  expect(load.figures()).toMatchObject({ queued: 1 });
  expect(await inspectQueue({ kind: 'redis', url })).toMatchObject({ waiting: 0 });
});

it.each([
  ['INFO', '-info', '+info'],
  ['EVALSHA', '-evalsha', '+evalsha'],
  ['a command of BullMQ in scripts', '-rpoplpush', '+rpoplpush'],
  ['the command that waits for jobs', '-bzpopmin', '+bzpopmin'],
  ['the keys', 'resetkeys', '~bull:*'],
])('a missing right to %s is named with its user, and the program rests', async (_, taken, needed) => {
  const { user, url } = await createUser(taken);
  const message = `ACL SETUSER ${user} ${needed}`;
  const failure: unknown = await inspectQueue({ kind: 'redis', url }).catch((error: unknown) => error);
  expect(describeError(failure)).toContain(message);
  const load = await openLoad({ kind: 'redis', url });
  load.startWorker();
  await load.send();
  expect(load.acknowledged.spooled.size).toBe(1);
  await waitFor(() => load.log().includes(`queue worker: The user ${user}`));
  expect(load.queue.state().failure).toContain(message);
  const commands = async () => {
    const stats = String(await redis.command('INFO', 'stats'));
    return Number(/total_commands_processed:(\d+)/.exec(stats)?.[1]);
  };
  const [began, used, before] = [performance.now(), process.cpuUsage(), await commands()];
  await waitFor(() => performance.now() - began > 3_000);
  const { user: cpu } = process.cpuUsage(used);
  // Two tries of some 70 commands each by the worker, three by the producer.
  expect((await commands()) - before).toBeLessThan(3_000);
  expect(cpu / 1_000).toBeLessThan(2_000);
  // The right can be granted while the program runs.
  await redis.command('ACL', 'SETUSER', user, needed);
  await load.settle();
  await waitFor(() => load.missing() === 0);
});

/** The scripts of BullMQ that adding, fetching, finishing, removing, delaying, retrying and counting jobs run. */
const SCRIPTS = [
  'addStandardJob-9',
  'addPrioritizedJob-9',
  'addDelayedJob-6',
  'removeJob-2',
  'moveToActive-11',
  'moveToFinished-14',
  'moveToDelayed-11',
  'retryJob-11',
  'extendLock-2',
  'extendLocks-1',
  'releaseLock-1',
  'moveStalledJobsToWait-9',
  'moveJobsToWait-8',
  'saveStacktrace-1',
  'getCounts-1',
  'getRanges-1',
];

it('every command that the scripts of BullMQ contain is tried', async () => {
  await redis.command('CONFIG', 'RESETSTAT');
  const client = connectRedis({ url: redis.url }, 'worker');
  await checkRights(client, 'bull:deliveries');
  client.disconnect();
  const stats = String(await redis.command('INFO', 'commandstats'));
  const tried = new Set(stats.matchAll(/^cmdstat_(\w+)/gm).map(([, name = '']) => name));
  const scripts = path.join(path.dirname(createRequire(import.meta.url).resolve('bullmq')), 'scripts');
  const inScripts = await Promise.all(
    SCRIPTS.map((name) => readFile(path.join(scripts, `${name}.js`), 'utf8')),
  );
  const used = inScripts.join('').matchAll(/\br?call\("(\w+)"/g);
  const missing = new Set(used.map(([, name = '']) => name.toLowerCase())).difference(tried);
  expect([...missing]).toEqual([]);
});
