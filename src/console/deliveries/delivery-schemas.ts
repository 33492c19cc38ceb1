import { ORIGINS } from '../../domain.ts';
import { z } from 'zod';
import type { DeliveryFilter } from '../../store/search-deliveries.ts';
import { isoTime } from '../api/moment.ts';
import { cursorOf } from '../api/paging.ts';
import { limit } from '../api/query.ts';
import { conditionShape, deliveredType, inOrder, rangeShape } from '../events/conditions.ts';

const count = z.number().int();

/** One delivery as the API answers it. */
export const deliverySchema = z
  .object({
    delivery_id: z.string(),
    received_at: isoTime,
    stored_at: isoTime,
    source: z.string(),
    message_type: deliveredType,
    sent_type: z.string().nullable().describe('of OTHER: name of the message type as sent'),
    origin: z.enum(ORIGINS),
    secret_form: z.string().nullable().describe('form in which the secret was sent'),
    body_bytes: count,
    record_count: count.describe('as in the receipt'),
    expected_count: count.describe('event_count + duplicate_count + quarantined_count'),
    event_count: count,
    duplicate_count: count.describe('events that an earlier delivery contained'),
    quarantined_count: count,
    refused_count: count.describe('records of erased persons, which were not stored again'),
  })
  .meta({ id: 'Delivery', description: 'One inbound POST and its result' });

/** The conditions of a list of deliveries. */
export const deliveryQuery = inOrder({
  ...rangeShape,
  source: conditionShape.source,
  type: deliveredType.optional(),
  with: z
    .enum(['quarantined', 'duplicates'], 'must be quarantined or duplicates')
    .optional()
    .describe('only deliveries with quarantined records, or with duplicates'),
  limit: limit(50, 500),
  cursor: cursorOf(z.object({ at: z.iso.datetime().transform((text) => new Date(text)), id: z.uuid() })),
});

/** The conditions as the store's filter. */
export function filterOf(query: z.output<typeof deliveryQuery>): DeliveryFilter {
  const { type, with: only, source, since, until } = query;
  return {
    source,
    messageType: type,
    since,
    until,
    withQuarantined: only === 'quarantined',
    withDuplicates: only === 'duplicates',
  };
}

/** The totals of all matching deliveries. */
export const sumsSchema = z
  .object({ deliveries: count, events: count, duplicates: count, quarantined: count })
  .nullable()
  .describe('totals of all matching deliveries; null if the query took longer than 1.5 s');
