import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { startDeliveryWorker } from '../../src/handlers/delivery-worker.ts';
import type { DeliveryQueueOptions } from '../../src/queue/delivery-queue.ts';
import { auditRecord, queuedDelivery } from './deliveries.ts';
import { openQueue } from './open-queue.ts';
import { waitFor } from './wait-for.ts';

/** A producer with a spool of its own, and workers that keep the ids of what they get; all are closed after the test. */
export async function openLoad(location: DeliveryQueueOptions['location']) {
  const { queue, logger, log, segments, close } = await openQueue(location);
  const acknowledged = { queued: new Set<string>(), spooled: new Set<string>() };
  const stored = new Set<string>();
  const workers: { close(): Promise<void> }[] = [];
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await close();
  });
  const all = () => [...acknowledged.queued, ...acknowledged.spooled];

  async function send(): Promise<void> {
    const delivery = queuedDelivery('AUDIT_LOG_ALL', [auditRecord()]);
    const durability = await queue.enqueue(delivery);
    acknowledged[durability].add(delivery.deliveryId);
  }
  return {
    queue,
    acknowledged,
    send,
    log,
    startWorker() {
      workers.push(
        startDeliveryWorker(
          location,
          {
            async add({ deliveries }) {
              for (const { deliveryId } of deliveries) stored.add(deliveryId);
              return { deliveries: deliveries.length, events: 0, duplicates: 0, quarantined: 0 };
            },
          },
          logger,
        ),
      );
    },
    /** Sends, by eight senders, until the work is done and for a second more. */
    async sendDuring<T>(work: () => Promise<T>): Promise<T> {
      const over = new AbortController();
      const sending = Array.from({ length: 8 }, async () => {
        while (!over.signal.aborted) {
          await send();
          await sleep(2);
        }
      });
      await waitFor(() => acknowledged.queued.size > 200);
      const result = await work();
      await sleep(1_000);
      over.abort();
      await Promise.all(sending);
      return result;
    },
    /** Resolves once nothing is spooled, and new deliveries are queued. */
    async settle(): Promise<void> {
      await waitFor(async () => (await segments()) === 0 && queue.state().works, 90_000);
    },
    missing: () => all().filter((id) => !stored.has(id)).length,
    figures: () => ({ queued: acknowledged.queued.size, spooled: acknowledged.spooled.size }),
  };
}
