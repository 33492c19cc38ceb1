import { v5 as uuidv5 } from 'uuid';
import { z } from 'zod';
import { UNKNOWN_MESSAGE_TYPE } from '../events/domain.ts';
import { NewerBatch, QueuedDelivery, type ReadDelivery } from './delivery-batch.ts';

/** The content of a job: deliveries (and the number of malformed ones), or data of a newer version. */
export type ReadBatch =
  | { readonly kind: 'deliveries'; readonly deliveries: readonly ReadDelivery[]; readonly malformed: number }
  | { readonly kind: 'newer'; readonly version: number };

/** A batch, to read its deliveries one by one. */
const AnyDeliveries = z.object({ deliveries: z.array(z.unknown()) });

/** The members that are kept of a malformed delivery, each if it is valid. */
const { deliveryId, source, messageType, receivedAt, origin, secretForm } = QueuedDelivery.shape;

/** Deliveries without an id get one from their content, in this namespace: a random UUID that never changes. */
export const ID_NAMESPACE = '6d1f0a52-6b1c-4d39-9d0e-2f6f5b1f7a43';

/**
 * Reads the data of a job, of any shape. Valid deliveries stay as they are. Anything else becomes a delivery with one
 * unreadable part, with its own id, source and message type if these are valid. `addedAt` (epoch milliseconds) replaces
 * a missing time of receipt. The same data always yields the same deliveries.
 */
export function readBatch(data: unknown, addedAt: number): ReadBatch {
  const newer = NewerBatch.safeParse(data);
  if (newer.success) return { kind: 'newer', version: newer.data.version };
  const any = AnyDeliveries.safeParse(data);
  const items = any.success ? any.data.deliveries : [data];
  const read = items.map((item) => ({ item, ...QueuedDelivery.safeParse(item) }));
  return {
    kind: 'deliveries',
    deliveries: read.map(({ item, data: delivery, error }) =>
      error === undefined ? delivery : keepUnreadable(item, z.prettifyError(error), addedAt),
    ),
    malformed: read.filter(({ success }) => !success).length,
  };
}

function keepUnreadable(item: unknown, problem: string, addedAt: number): ReadDelivery {
  const text = JSON.stringify(item) ?? 'undefined';
  const content = Buffer.from(text);
  const member = <T>(name: string, schema: z.ZodType<T>) =>
    z
      .object({ [name]: schema })
      .transform((object) => object[name])
      .safeParse(item).data;
  return {
    deliveryId: member('deliveryId', deliveryId) ?? uuidv5(text, ID_NAMESPACE),
    source: member('source', source) ?? 'unknown',
    messageType: member('messageType', messageType) ?? UNKNOWN_MESSAGE_TYPE,
    receivedAt: member('receivedAt', receivedAt) ?? addedAt,
    origin: member('origin', origin) ?? 'webhook',
    secretForm: member('secretForm', secretForm) ?? null,
    bodyBytes: content.length,
    recordCount: 1,
    records: '[]',
    unreadable: [
      { reason: `the job data is not a delivery: ${problem}`, content: content.toString('base64') },
    ],
  };
}
