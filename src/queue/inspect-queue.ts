import { OutageError } from '../errors.ts';
import { QUEUE_NAME } from './batch-queue.ts';
import { engineAt } from './engine.ts';
import type { QueueLocation } from './engine.ts';

/** What lies in the queue, and how safe it is there. */
export interface QueueInspection {
  /** Batches that wait for a worker. */
  readonly waiting: number;
  /** In the hands of a worker. */
  readonly active: number;
  /** They could not be stored and are tried again. */
  readonly delayed: number;
  /** How long the oldest of those that wait has waited; undefined when there is none. */
  readonly oldestSeconds: number | undefined;
  /** Settings of the queue's server under which it may lose what it has taken, each in a sentence. */
  readonly weaknesses: readonly string[];
}

/**
 * Looks into the queue, as somebody who only passes by. Throws OutageError with the server's own words when it cannot
 * be reached.
 */
export async function inspectQueue(location: QueueLocation): Promise<QueueInspection> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Who stays would wait for the server to come back.
  const producer = engineAt(location).connectProducer(QUEUE_NAME, { skipMetasUpdate: true }, reject);
  const { bullmq } = producer;
  bullmq.on('error', reject);
  try {
    await Promise.race([bullmq.waitUntilReady(), failed]);
    const counts = await bullmq.getJobCounts('wait', 'active', 'delayed');
    const { wait = 0, active = 0, delayed = 0 } = counts;
    // Newest first, both engines mean the same; asked for the first one in ascending order, Postgres gives the newest.
    const [oldest] = wait === 0 ? [] : await bullmq.getJobs(['wait'], wait - 1, wait - 1, false);
    const weaknesses = await producer.weaknesses();
    const oldestSeconds = oldest && Math.max(0, Date.now() - oldest.timestamp) / 1_000;
    return { waiting: wait, active, delayed, oldestSeconds, weaknesses };
  } catch (error) {
    throw new OutageError('the queue does not answer', { cause: error });
  } finally {
    await bullmq.close().catch(() => undefined);
    await producer.disconnect();
  }
}
