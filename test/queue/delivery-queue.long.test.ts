import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { DeliveryBatch } from '../../src/queue/delivery-batch.ts';
import { freePort } from '../support/free-port.ts';
import { BACKENDS } from '../support/backends.ts';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openQueue } from '../support/open-queue.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

/** A queue that is closed behind the tests. */
async function open(...given: Parameters<typeof openQueue>) {
  const opened = await openQueue(...given);
  cleanUps.push(() => opened.close());
  return opened;
}

async function ownRedis(port?: number) {
  const redis = await startRedis(port);
  cleanUps.push(() => redis.stop());
  const client = new Redis(redis.url);
  cleanUps.push(async () => client.disconnect());
  return { url: redis.url, client };
}

/** The delivery ids that wait in the queue in Redis. */
async function queuedIds(url: string): Promise<string[]> {
  const queue = new Queue('deliveries', { connection: { url } });
  try {
    const jobs = await queue.getJobs(['wait']);
    return jobs.flatMap(({ data }) =>
      DeliveryBatch.parse(data).deliveries.map(({ deliveryId }) => deliveryId),
    );
  } finally {
    await queue.close();
  }
}

const delivery = () => queuedDelivery('AUDIT_LOG_ALL', [auditRecord()]);

const hasRedis = BACKENDS.some(({ usesRedis, available }) => usesRedis && available);

describe.skipIf(!hasRedis).concurrent('the way into the queue (needs redis-server)', () => {
  it('leads to the spool while Redis is away, and from there to the queue once it comes', async () => {
    const port = await freePort();
    const url = `redis://127.0.0.1:${port}`;
    const { queue, segments } = await open({ kind: 'redis', url });
    const deliveries = Array.from({ length: 20 }, delivery);
    expect(await Promise.all(deliveries.map((one) => queue.enqueue(one)))).toEqual(
      deliveries.map(() => 'spooled'),
    );
    expect(await queue.check()).toBe('spooled');
    expect(await segments()).toBe(1);
    await ownRedis(port);
    await waitFor(async () => (await segments()) === 0);
    expect(new Set(await queuedIds(url))).toEqual(new Set(deliveries.map(({ deliveryId }) => deliveryId)));
    await waitFor(async () => (await queue.check()) === 'queued');
    expect(await queue.enqueue(delivery())).toBe('queued');
  });

  it('asks a queue that hangs once, not for each delivery', async () => {
    const { url, client } = await ownRedis();
    const { queue } = await open({ kind: 'redis', url });
    expect(await queue.enqueue(delivery())).toBe('queued');
    await client.client('PAUSE', 60_000, 'ALL');
    expect(await queue.enqueue(delivery())).toBe('spooled');
    const began = performance.now();
    for (let count = 0; count < 10; count += 1) expect(await queue.enqueue(delivery())).toBe('spooled');
    // Each request to the queue would take 2 s.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('with strict durability queues again what a Redis without its memory has lost, until the rows are there', async () => {
    const { url, client } = await ownRedis();
    const stored = new Set<string>();
    const { queue, segments } = await open({ kind: 'redis', url }, { findStored: async () => ({ stored }) });
    const deliveries = Array.from({ length: 5 }, delivery);
    const ids = new Set(deliveries.map(({ deliveryId }) => deliveryId));
    expect(await Promise.all(deliveries.map((one) => queue.enqueue(one)))).toEqual(
      deliveries.map(() => 'queued'),
    );
    expect(await segments()).toBe(1);
    await client.flushall();
    await waitFor(async () => new Set(await queuedIds(url)).size === ids.size);
    expect(await segments()).toBe(1);
    for (const id of ids) stored.add(id);
    await waitFor(async () => (await segments()) === 0);
  });

  it('says in plain words under which of its settings Redis can lose what it has taken', async () => {
    const { url, client } = await ownRedis();
    await client.config('SET', 'appendonly', 'no');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { log } = await open({ kind: 'redis', url });
    await waitFor(() => log().includes('has no append-only file'));
    expect(log()).toContain('evicts queued deliveries');
  });
});

it('the way into a queue in Postgres leads to the spool until the queue has its tables, and then into the queue', async () => {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  await sql`alter schema bullmq rename to not_yet`.execute(database.db);
  const { queue, segments, log } = await open({ kind: 'postgres', databaseUrl: database.databaseUrl });
  await waitFor(() => log().includes('tables do not exist yet'));
  expect(log()).not.toContain('"level":40');
  expect(await queue.enqueue(delivery())).toBe('spooled');
  await sql`alter schema not_yet rename to bullmq`.execute(database.db);
  await waitFor(async () => (await segments()) === 0);
  const { rows } = await sql`select count(*)::int as jobs from bullmq.job`.execute(database.db);
  expect(rows).toEqual([{ jobs: 1 }]);
});
