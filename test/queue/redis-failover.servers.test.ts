import { expect, it, onTestFinished } from 'vitest';
import { redisForTest } from '../support/for-one-test.ts';
import { openLoad } from '../support/redis-load.ts';
import { startSentinels } from '../support/redis-sentinel.ts';
import { waitFor } from '../support/wait-for.ts';

const open = (url: string) => openLoad({ kind: 'redis', url });

async function sentinels(options?: Parameters<typeof startSentinels>[0]) {
  const started = await startSentinels(options);
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

it('a master that was made a replica is named as the reason for spooling, and used again once it is a master', async () => {
  const [one, other] = [await redisForTest(), await redisForTest()];
  const load = await open(one.url);
  load.startWorker();
  await load.send();
  await waitFor(() => load.missing() === 0);
  await one.command('REPLICAOF', '127.0.0.1', new URL(other.url).port);
  await load.send();
  expect(load.acknowledged.spooled.size).toBe(1);
  await waitFor(() => load.log().includes('is a replica of 127.0.0.1'));
  await one.command('REPLICAOF', 'NO', 'ONE');
  await load.settle();
  await waitFor(() => load.missing() === 0);
});

it('replicas that hang are waited for in the spool, and replicas that stay away are not', async () => {
  const redis = await sentinels();
  const load = await open(redis.url);
  load.startWorker();
  await load.send();
  const master = await redis.master();
  const replica = redis.nodes.find((node) => node !== master);
  replica?.signal('SIGSTOP');
  await load.send();
  expect(load.acknowledged.spooled.size).toBe(1);
  expect(load.log()).toContain('no replica of Redis confirmed a batch');
  await replica?.kill();
  await load.settle();
  const before = load.acknowledged.queued.size;
  await load.send();
  expect(load.acknowledged.queued.size).toBe(before + 1);
  await waitFor(() => load.missing() === 0);
});

it('passwords of servers and of sentinels are in the URL', async () => {
  const redis = await sentinels({ password: 'p@ss:/w+rd', sentinelPassword: 's+ntinel&' });
  const load = await open(redis.url);
  load.startWorker();
  await load.send();
  expect(load.figures()).toMatchObject({ queued: 1 });
  await waitFor(() => load.missing() === 0);
});
