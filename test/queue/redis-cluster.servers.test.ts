import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedisEngine } from '../../src/queue/redis-engine.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { startRedisCluster, type TestRedisCluster } from '../support/redis-cluster.ts';
import { openLoad } from '../support/redis-load.ts';
import { waitFor } from '../support/wait-for.ts';

let cluster: TestRedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster(true);
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe('a Redis Cluster', () => {
  it('has each queue in a slot of its own', async () => {
    const engine = createRedisEngine({ url: cluster.url });
    const names = ['deliveries', 'deliveries-2', 'deliveries-3'];
    const processed: string[] = [];
    const fail = (error: Error) => process.stderr.write(`${error.message}\n`);
    const open = names.map((name) => ({
      name,
      producer: engine.connectProducer(name, { skipMetasUpdate: true }, fail),
      worker: engine.connectWorker(name, async () => void processed.push(name), {}, fail),
    }));
    for (const { producer } of open) {
      await producer.bullmq.waitUntilReady();
      await producer.bullmq.add(
        'batch',
        { version: 1, deliveries: [queuedDelivery('AUDIT_LOG_ALL', [])] },
        { jobId: 'one' },
      );
    }
    await waitFor(() => processed.length === names.length);
    expect(processed.toSorted()).toEqual(names);
    const slots = await Promise.all(names.map((name) => cluster.slotOf(`{bull:${name}}:${name}:wait`)));
    expect(new Set(slots).size).toBe(names.length);
    for (const { producer, worker } of open) {
      await worker.bullmq.close();
      await worker.disconnect();
      await producer.bullmq.close();
      await producer.disconnect();
    }
  });

  it('loses nothing when a master is killed', async () => {
    const load = await openLoad({ kind: 'redis', url: cluster.url });
    load.startWorker();
    load.startWorker();
    const slot = await cluster.slotOf('{bull:deliveries}');
    await load.sendDuring(() => cluster.killMaster(slot));
    await load.settle();
    await waitFor(() => load.missing() === 0);
    expect(load.figures().queued).toBeGreaterThan(0);
  });
});
