import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, type TestContext } from 'vitest';
import { OutageError } from '../../src/lib/errors.ts';
import { packBody, type QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { openFairQueue, type FairQueue } from '../../src/queue/fair-queue.ts';
import { chooseQueue, LANES, queueNamesOf } from '../../src/queue/lanes.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { useDirectory } from '../support/use-directory.ts';

const MIB = 1024 * 1024;

const directory = useDirectory();

/** The ways into a queue that is away, with a spool of 16 MiB. */
function openAway({ onTestFinished }: TestContext, sources = 2): FairQueue {
  const queue = openFairQueue({
    location: { kind: 'redis', url: 'redis://127.0.0.1:1' },
    countSources: () => sources,
    spool: { directory: path.join(directory, randomUUID()), maxBytes: 16 * MIB, minFreeBytes: 0 },
    findStored: undefined,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => queue.close());
  return queue;
}

const from = (source: string, bytes = 0) =>
  queuedDelivery('AUDIT_LOG_ALL', [{ description: 'x'.repeat(bytes) }], { source });

/** Sends deliveries until one is refused for want of room. Resolves with how many were accepted. */
async function fill(queue: FairQueue, next: (accepted: number) => QueuedDelivery): Promise<number> {
  for (let accepted = 0; ; accepted += 1) {
    const refusal = await queue.enqueue(next(accepted)).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal instanceof OutageError) return accepted;
    if (refusal !== undefined) throw refusal;
  }
}

// Each waits several seconds for the queue.
describe.concurrent('the spool of a queue that is away', () => {
  it('a source beyond its share fills half of the spool, and the others have the rest', async (context) => {
    const queue = openAway(context);
    await queue.enqueue(from('quiet'));
    // 7.5 MiB of 8.
    expect(await fill(queue, () => from('noisy', 2.5 * MIB))).toBe(3);
    expect(queue.state().spool.segments).toBe(2);
    const large = from('quiet', MIB);
    expect(await queue.enqueue({ ...large, ...packBody(large) })).toBe('spooled');
    // It is packed to next to nothing, which the bulk lane still has room for.
    expect(await queue.enqueue(from('quiet', 1.5 * MIB))).toBe('spooled');
    await expect(queue.enqueue(from('noisy', 2.5 * MIB))).rejects.toThrow(OutageError);
    expect(await queue.check()).toBe('spooled');
  });

  it('the lanes have the room of the spool together', async (context) => {
    const queue = openAway(context, 20);
    await queue.enqueue(from('quiet'));
    expect(await fill(queue, () => from('noisy', 2.5 * MIB))).toBe(3);
    // 7.5 MiB of the 8.5 that are left, of sources within their shares.
    expect(await fill(queue, (count) => from(`customer-${count}`, 1.5 * MIB))).toBe(5);
  });

  it('a single source has the whole spool, in one lane', async (context) => {
    const queue = openAway(context, 1);
    // 15 MiB of 16.
    expect(await fill(queue, () => from('default', 2.5 * MIB))).toBe(6);
  });
});

it('the queues of a lane have the names that they always had, and more in a cluster, where sources are spread', () => {
  const redis = { kind: 'redis', url: 'redis://cache:6379' } as const;
  expect(LANES.flatMap((lane) => queueNamesOf(lane, redis))).toEqual(['deliveries', 'deliveries-bulk']);
  const names = queueNamesOf('ordinary', { kind: 'redis', url: 'rediss+cluster://a,b,c' });
  expect(names).toEqual(['deliveries', 'deliveries-2', 'deliveries-3', 'deliveries-4']);
  const used = new Set(Array.from({ length: 50 }, (_, n) => chooseQueue(names, `customer-${n}`)));
  expect([...used].toSorted()).toEqual(names);
  expect(chooseQueue(names, 'customer-1')).toBe(chooseQueue(names, 'customer-1'));
});
