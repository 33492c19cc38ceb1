import { z } from 'zod';
import type { Delivery, DeliveryFilter } from '../../store/search-deliveries.ts';
import { cursorOf } from '../api/paging.ts';
import { limit } from '../api/query.ts';
import { conditionShape, deliveredType, isInOrder, NOT_IN_ORDER, rangeShape } from '../events/conditions.ts';

const count = z.number().int();

/** One delivery as the API answers it. */
export const deliverySchema = z
  .object({
    delivery_id: z.string(),
    received_at: z.string(),
    stored_at: z.string(),
    source: z.string(),
    message_type: deliveredType,
    origin: z.enum(['webhook', 'backfill']),
    secret_form: z.string().nullable().meta({ description: 'how it carried its secret' }),
    body_bytes: count,
    record_count: count.meta({ description: 'what the receipt told its sender' }),
    expected_count: count.meta({ description: 'event_count + duplicate_count + quarantined_count' }),
    event_count: count,
    duplicate_count: count.meta({ description: 'events that an earlier delivery had brought' }),
    quarantined_count: count,
  })
  .meta({ id: 'Delivery', description: 'One inbound POST and what it came to' });

/** A delivery as the API answers it. */
export function toDeliveryAnswer({ xid: _xid, ...delivery }: Delivery): z.output<typeof deliverySchema> {
  return {
    ...delivery,
    received_at: delivery.received_at.toISOString(),
    stored_at: delivery.stored_at.toISOString(),
  };
}

/** Deliveries: which. */
export const deliveryQuery = z
  .object({
    ...rangeShape,
    source: conditionShape.source,
    type: deliveredType.optional(),
    with: z
      .enum(['quarantined', 'duplicates'], 'takes quarantined or duplicates')
      .optional()
      .meta({ description: 'only those of which something went to quarantine, or was stored before' }),
    limit: limit(50, 500),
    cursor: cursorOf(z.object({ at: z.iso.datetime().transform((text) => new Date(text)), id: z.uuid() })),
  })
  .refine(isInOrder, NOT_IN_ORDER);

/** What the store looks for. */
export function filterOf({
  type,
  with: only,
  source,
  since,
  until,
}: z.output<typeof deliveryQuery>): DeliveryFilter {
  return {
    source,
    messageType: type,
    since,
    until,
    withQuarantined: only === 'quarantined',
    withDuplicates: only === 'duplicates',
  };
}

/** What the deliveries that match came to in all. */
export const sumsSchema = z
  .object({ deliveries: count, events: count, duplicates: count, quarantined: count })
  .nullable()
  .meta({ description: 'of all that match; null when adding up took longer than 1.5 s' });
