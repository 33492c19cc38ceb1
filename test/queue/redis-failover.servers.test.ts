import { Queue } from 'bullmq';
import { afterAll, describe, expect, it } from 'vitest';
import { DeliveryBatch } from '../../src/queue/delivery-batch.ts';
import { startRedis } from '../support/redis.ts';
import { openLoad } from '../support/redis-load.ts';
import type { RedisNode } from '../support/redis-nodes.ts';
import { startSentinels, type TestSentinels } from '../support/redis-sentinel.ts';
import { waitFor } from '../support/wait-for.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

async function open(url: string) {
  const load = await openLoad({ kind: 'redis', url });
  cleanUps.push(() => load.close());
  return load;
}

async function sentinels(options?: Parameters<typeof startSentinels>[0]) {
  const started = await startSentinels(options);
  cleanUps.push(() => started.stop());
  return started;
}

/** The ids of all deliveries that wait in the queue of this server. */
async function queuedAt(node: RedisNode): Promise<Set<string>> {
  const queue = new Queue('deliveries', { connection: { port: node.port } });
  try {
    const jobs = await queue.getJobs(['wait']);
    return new Set(
      jobs.flatMap(({ data }) => DeliveryBatch.parse(data).deliveries.map(({ deliveryId }) => deliveryId)),
    );
  } finally {
    await queue.close();
  }
}

const FAILOVERS = [
  { name: 'a planned failover', fail: (redis: TestSentinels) => redis.failover() },
  { name: 'kill -9 of the master', fail: (redis: TestSentinels) => redis.killMaster() },
];

describe.for(FAILOVERS)('$name behind sentinels', ({ name, fail }) => {
  it('loses nothing that was acknowledged as queued', async () => {
    const redis = await sentinels();
    const load = await open(redis.url);
    await load.sendDuring<unknown>(() => fail(redis));
    await load.settle();
    // Nobody fetches: what the new master does not have is lost.
    const queued = await queuedAt(await redis.master());
    const lost = [...load.acknowledged.queued, ...load.acknowledged.spooled].filter((id) => !queued.has(id));
    process.stdout.write(`${name}, no worker: ${JSON.stringify({ ...load.figures(), lost: lost.length })}\n`);
    expect(lost).toEqual([]);
  });

  it('leaves nothing stuck: the spool is drained and workers go on, without a restart', async () => {
    const redis = await sentinels();
    const load = await open(redis.url);
    load.startWorker();
    load.startWorker();
    await load.sendDuring<unknown>(() => fail(redis));
    await load.settle();
    await waitFor(() => load.missing() === 0);
    process.stdout.write(`${name}, two workers: ${JSON.stringify(load.figures())}\n`);
    const before = load.acknowledged.queued.size;
    await load.send();
    expect(load.acknowledged.queued.size).toBe(before + 1);
  });
});

describe('a master that was made a replica', () => {
  it('is named as the reason for spooling, and used again once it is a master', async () => {
    const [one, other] = [await startRedis(), await startRedis()];
    cleanUps.push(
      () => one.stop(),
      () => other.stop(),
    );
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
});

describe('replicas', () => {
  it('that hang are waited for in the spool, and replicas that stay away are not', async () => {
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
});

describe('passwords', () => {
  it('of servers and of sentinels are in the URL', async () => {
    const redis = await sentinels({ password: 'p@ss:/w+rd', sentinelPassword: 's+ntinel&' });
    const load = await open(redis.url);
    load.startWorker();
    await load.send();
    expect(load.figures()).toMatchObject({ queued: 1 });
    await waitFor(() => load.missing() === 0);
  });
});
