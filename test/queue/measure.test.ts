import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { openBatchQueue } from '../../src/queue/batch-queue.ts';
import { startDeliveryWorker } from '../../src/queue/delivery-worker.ts';
import type { QueueLocation } from '../../src/queue/engine.ts';
import { migrateQueue } from '../../src/queue/postgres-engine.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

async function locate(usesRedis: boolean): Promise<QueueLocation> {
  if (usesRedis) return { kind: 'redis', url: await emptyRedis() };
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const { databaseUrl } = database;
  await migrateQueue(databaseUrl);
  return { kind: 'postgres', databaseUrl };
}

const logger = pino({ level: 'silent' });

describe.each(BACKENDS)('measuring, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)('counts the jobs by state, and knows how long the oldest has waited', async () => {
    const location = await locate(usesRedis);
    const queue = openBatchQueue(location, logger);
    cleanUps.push(() => queue.close());
    await waitFor(() =>
      queue.check().then(
        () => true,
        () => false,
      ),
    );
    expect(await queue.measure()).toEqual({
      waiting: 0,
      active: 0,
      delayed: 0,
      failed: 0,
      oldestWaitingSeconds: undefined,
    });

    const add = () => queue.add([queuedDelivery('AUDIT_LOG_ALL', [auditRecord()])]);
    const first = Date.now();
    await add();
    await waitFor(() => Date.now() - first > 300);
    await add();
    const { waiting, oldestWaitingSeconds } = await queue.measure();
    expect(waiting).toBe(2);
    expect(oldestWaitingSeconds).toBeGreaterThanOrEqual(0.3);
    expect(oldestWaitingSeconds).toBeLessThanOrEqual((Date.now() - first) / 1000);

    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const worker = startDeliveryWorker(
      location,
      async () => {
        await gate;
        return { deliveries: 1, events: 1, duplicates: 0, quarantined: 0 };
      },
      logger,
    );
    cleanUps.push(() => worker.close());
    await waitFor(async () => (await queue.measure()).active === 2);
    expect(await queue.measure()).toMatchObject({ waiting: 0, oldestWaitingSeconds: undefined });
    open();
    await waitFor(async () => (await queue.measure()).active === 0);
  });
});
