import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError } from '../errors.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import type { Db } from '../store/database.ts';
import { classifyFailure } from '../store/failure.ts';
import { deliveryToEvents } from './delivery-to-events.ts';
import { storeDeliveries } from './store-deliveries.ts';

/** How long a batch rests between attempts while the database is away. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * The worker's failure policy. An outage waits and comes back as often as it takes, until `signal` fires; a
 * conflict with another transaction is tried again at once; a value that Postgres cannot hold is isolated.
 */
export function createBatchStore(db: Db, logger: Logger): StoreBatch {
  return async (batch, signal) => {
    const deliveries = batch.deliveries.map(deliveryToEvents);
    const began = performance.now();
    let isolate = false;
    for (let pause = MIN_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        const stored = await storeDeliveries(db, deliveries, isolate);
        logger.debug({ ...stored, ms: Math.round(performance.now() - began) }, 'batch stored');
        return;
      } catch (error) {
        switch (classifyFailure(error)) {
          case 'data':
            isolate = true;
            break;
          case 'conflict':
            break;
          case 'outage':
            logger.warn({ pause }, `a batch waits for the database: ${describeError(error)}`);
            await pauseOrGiveUp(pause, signal, error);
            break;
          case 'defect':
            throw error;
        }
      }
    }
  };
}

async function pauseOrGiveUp(ms: number, signal: AbortSignal, cause: unknown): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw new OutageError('gave up waiting for the database', { cause });
  }
}
