import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedisEngine } from '../../src/queue/redis-engine.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { startRedisCluster, type TestRedisCluster } from '../support/redis-cluster.ts';
import { openLoad } from '../support/redis-load.ts';
import { waitFor } from '../support/wait-for.ts';

let cluster: TestRedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ withReplicas: true });
});
afterAll(() => cluster.stop());

/** Sends while the work is done, and resolves with the number of deliveries that are not stored afterwards. */
async function lostDuring(what: string, work: (slot: number) => Promise<unknown>): Promise<number> {
  const load = await openLoad({ kind: 'redis', url: cluster.url });
  try {
    load.startWorker();
    load.startWorker();
    const slot = await cluster.slotOf('{bull:deliveries}');
    await load.sendDuring(() => work(slot));
    await load.settle();
    await waitFor(() => load.missing() === 0).catch(() => undefined);
    process.stdout.write(`${what}: ${JSON.stringify(load.figures())}\n`);
    return load.missing();
  } finally {
    await load.close();
  }
}

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

  it('loses nothing while the slot of the queue moves', async () => {
    const lost = await lostDuring('slot moved twice', async (slot) => {
      await cluster.moveSlot(slot);
      await cluster.moveSlot(slot);
    });
    expect(lost).toBe(0);
  });

  it('loses nothing in a planned failover', async () => {
    expect(await lostDuring('planned failover', (slot) => cluster.failover(slot))).toBe(0);
  });

  it('loses nothing when a master is killed', async () => {
    expect(await lostDuring('kill -9 of the master', (slot) => cluster.killMaster(slot))).toBe(0);
  });
});
