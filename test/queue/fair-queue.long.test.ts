import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inspectQueue } from '../../src/queue/batch-queue.ts';
import { packBody, type QueuedDelivery, type ReadDelivery } from '../../src/queue/delivery-batch.ts';
import { startDeliveryWorker } from '../../src/handlers/delivery-worker.ts';
import type { QueueLocation } from '../../src/queue/engine.ts';
import { openFairQueue } from '../../src/queue/fair-queue.ts';
import type { Lane } from '../../src/queue/lanes.ts';
import { BACKENDS, emptyRedis } from '../support/backends.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { newDirectory } from '../support/use-directory.ts';

const MIB = 1024 * 1024;
const logger = pino({ level: 'silent' });

async function locate(usesRedis: boolean): Promise<QueueLocation> {
  if (usesRedis) return { kind: 'redis', url: await emptyRedis() };
  return { kind: 'postgres', databaseUrl: (await databaseForTest()).databaseUrl };
}

async function open(location: QueueLocation, { sources = 2 } = {}) {
  const directory = await newDirectory();
  const spool = { directory, maxBytes: 1024 * MIB, minFreeBytes: 0 };
  const queue = openFairQueue({
    location,
    countSources: () => sources,
    spool,
    findStored: undefined,
    logger,
  });
  onTestFinished(() => queue.close());
  return queue;
}

const from = (source: string, id: number, bytes = 0) =>
  queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ id, description: 'x'.repeat(bytes) })], { source });

/** Starts the worker of a lane. Returns the ids that it has been given, in order. */
function work(location: QueueLocation, lane: Lane): string[] {
  const ids: string[] = [];
  const store = async ({ deliveries }: { readonly deliveries: readonly ReadDelivery[] }) => {
    ids.push(...deliveries.map(({ deliveryId }) => deliveryId));
    return { deliveries: deliveries.length, events: 0, duplicates: 0, quarantined: 0 };
  };
  const worker = startDeliveryWorker(location, { add: store }, logger, { lane });
  onTestFinished(() => worker.close());
  return ids;
}

const idsOf = (deliveries: readonly QueuedDelivery[]) => deliveries.map(({ deliveryId }) => deliveryId);

describe.each(BACKENDS)('two lanes, $backend', ({ available, usesRedis }) => {
  it.skipIf(!available)(
    'keep apart what is large or beyond a share, take turns, and are measured together',
    async () => {
      const location = await locate(usesRedis);
      const queue = await open(location);
      const quiet = [1, 2, 3].map((id) => from('quiet', id));
      const noisy = [4, 5, 6, 7].map((id) => from('noisy', id, 5 * MIB));
      const body = from('quiet', 8, 300_000);
      const large = { ...body, ...packBody(body) };
      for (const delivery of [...noisy, ...quiet, large]) {
        expect(await queue.enqueue(delivery)).toBe('queued');
      }
      expect(await queue.measure()).toMatchObject({ waiting: 8, active: 0, delayed: 0, failed: 0 });
      expect((await queue.measure()).oldestWaitingSeconds).toBeGreaterThan(0);
      expect(await inspectQueue(location)).toMatchObject({ waiting: 8 });

      const ordinary = work(location, 'ordinary');
      await waitFor(() => ordinary.length === quiet.length);
      expect(ordinary).toEqual(idsOf(quiet));
      expect(await queue.measure()).toMatchObject({ waiting: 5 });
      const bulk = work(location, 'bulk');
      await waitFor(() => bulk.length === 5);
      // The quiet source's large delivery came last and has its turn first.
      expect(bulk[0]).toBe(large.deliveryId);
      expect(bulk.toSorted()).toEqual(idsOf([...noisy, large]).toSorted());
      await waitFor(async () => (await queue.measure()).active === 0);
      expect(await queue.measure()).toMatchObject({ waiting: 0, oldestWaitingSeconds: undefined });
    },
  );

  it.skipIf(!available)('leave a single source in the ordinary one', async () => {
    const location = await locate(usesRedis);
    const queue = await open(location, { sources: 1 });
    const deliveries = [1, 2, 3].map((id) => from('default', id, 5 * MIB));
    for (const delivery of deliveries) await queue.enqueue(delivery);
    const ordinary = work(location, 'ordinary');
    await waitFor(() => ordinary.length === 3);
    expect(ordinary).toEqual(idsOf(deliveries));
  });
});
