import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLoad } from '../support/redis-load.ts';
import { startRedis } from '../support/redis.ts';
import type { TestRedis } from '../support/redis.ts';
import { describeError } from '../../src/errors.ts';
import { inspectQueue } from '../../src/queue/batch-queue.ts';
import { waitFor } from '../support/wait-for.ts';

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
  await load.close();
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
  await load.close();
});
