import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { openDeliveryQueue, type DeliveryQueueOptions } from '../../src/queue/delivery-queue.ts';

/** Opens the ordinary lane into a queue, with a spool of its own. */
export async function openQueue(
  location: DeliveryQueueOptions['location'],
  overrides: Partial<DeliveryQueueOptions> = {},
) {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-queue-'));
  const lines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(line) });
  const queue = openDeliveryQueue({
    location,
    lane: 'ordinary',
    rankOf: () => 0,
    spool: { directory, maxBytes: 1024 ** 3, minFreeBytes: 0 },
    findStored: undefined,
    logger,
    ...overrides,
  });
  return {
    queue,
    logger,
    /** All that was logged. */
    log: () => lines.join(''),
    /** How many segments the spool has. */
    segments: async () =>
      (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.segment')).length,
    close: async (): Promise<void> => {
      await queue.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
