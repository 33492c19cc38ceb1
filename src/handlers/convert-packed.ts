import { randomUUID } from 'node:crypto';
import { createWorkerPool } from '../lib/worker-pool.ts';
import type { Refusals } from '../erasure/refusals.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import type { ConvertReply, ConvertRequest } from './convert-thread.ts';
import { ConversionError, type DeliveryPart } from './delivery-to-events.ts';

/**
 * One thread converts all large deliveries, each slice by slice. Between two slices it is free for others: a transaction
 * that waited for the thread while it holds rows could otherwise wait for one that waits for these rows.
 */
const converters = createWorkerPool<ConvertRequest, ConvertReply>({
  script: new URL('convert-thread.ts', import.meta.url),
  threads: 1,
  maxWaiting: 64,
  timeLimitMs: 15_000,
  maxHeapMib: 256,
});

/**
 * Converts a packed delivery in a thread, as `convertDelivery` does a plain one, and yields its parts slice by slice.
 * Throws ConversionError, and another error if the thread ended, perhaps because of another delivery.
 */
export async function* convertPacked(
  delivery: ReadDelivery,
  refusals?: Refusals,
): AsyncGenerator<readonly DeliveryPart[]> {
  const id = randomUUID();
  const ask = (request: ConvertRequest) => converters.run(delivery.source, request);
  let isDone = false;
  try {
    for (let request: ConvertRequest = { id, delivery, refusals }; !isDone; request = { id }) {
      const reply = await ask(request);
      isDone = reply.isDone;
      if (reply.isLost === true) throw new Error('the thread that converted the delivery has ended');
      if (reply.problem !== undefined) {
        throw new ConversionError(`delivery ${delivery.deliveryId} cannot be converted: ${reply.problem}`);
      }
      // A Buffer comes out of the thread as a plain array of bytes.
      yield reply.parts.map((part) =>
        'setAside' in part
          ? { setAside: { ...part.setAside, content: Buffer.from(part.setAside.content.buffer) } }
          : part,
      );
    }
  } finally {
    if (!isDone) await ask({ id, isAbandoned: true });
  }
}
