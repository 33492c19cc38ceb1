import { OutageError } from '../errors.ts';
import { measureJobs, QUEUE_NAME } from './batch-queue.ts';
import type { QueueMeasure } from './batch-queue.ts';
import { engineAt } from './engine.ts';
import type { QueueLocation } from './engine.ts';

/** What lies in the queue, and how safe it is there. */
export interface QueueInspection extends QueueMeasure {
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
    const [measure, weaknesses] = await Promise.all([measureJobs(producer), producer.weaknesses()]);
    return { ...measure, weaknesses };
  } catch (error) {
    throw new OutageError('the queue does not answer', { cause: error });
  } finally {
    await bullmq.close().catch(() => undefined);
    await producer.disconnect();
  }
}
