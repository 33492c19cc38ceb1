import { z } from 'zod';
import { FAMILIES, MESSAGE_TYPES } from '../../domain.ts';
import type { StoredEvent } from '../../store/stored-event.ts';

const time = z.string().meta({ description: 'ISO 8601 in UTC' });

/** One event as the API answers it. */
export const eventSchema = z
  .object({
    event_id: z.string().meta({ description: 'made from the content: the same event has the same' }),
    delivery_id: z.string().meta({ description: 'the delivery that brought it' }),
    source: z.string(),
    message_type: z.enum(MESSAGE_TYPES),
    family: z.enum(FAMILIES),
    occurred_at: time,
    received_at: time,
    owner_id: z.string().nullable(),
    org_id: z.string().nullable(),
    origin: z.enum(['webhook', 'backfill']),
    columns: z
      .record(z.string(), z.union([z.string(), z.array(z.string()), z.null()]))
      .meta({ description: "the message type's typed columns by name, as text" }),
    payload: z.record(z.string(), z.unknown()).meta({ description: 'the record as sent, every digit kept' }),
  })
  .meta({ id: 'Event', description: 'One stored event, whole' });

/** An event as the API answers it. */
export function toEventAnswer(event: StoredEvent): z.input<typeof eventSchema> {
  return {
    event_id: event.eventId,
    delivery_id: event.deliveryId,
    source: event.source,
    message_type: event.messageType,
    family: event.family,
    occurred_at: event.occurredAt,
    received_at: event.receivedAt,
    owner_id: event.ownerId,
    org_id: event.orgId,
    origin: event.origin,
    columns: Object.fromEntries(
      Object.entries(event.columns).map(([name, value]) => [
        name,
        typeof value === 'string' || value === null ? value : [...value],
      ]),
    ),
    payload: event.payload,
  };
}

/** One page of events. */
export const eventPageSchema = z.object({
  items: z.array(eventSchema),
  next_cursor: z.string().nullable().meta({ description: 'where the next page begins; null at the end' }),
});

/** Events over time. */
export const histogramSchema = z
  .object({
    since: time,
    until: time,
    bucket_seconds: z.number().meta({ description: 'width of a bar' }),
    bars: z.array(
      z.object({
        start: time,
        counts: z.partialRecord(z.enum(MESSAGE_TYPES), z.number()),
      }),
    ),
    is_complete: z.boolean().meta({
      description: 'false when counting took too long: then the counts are estimates, or all are missing',
    }),
  })
  .meta({ id: 'Histogram', description: 'How many events there were in each stretch of a range' });

/** What of an event a destination has had. */
export const forwardingSchema = z
  .object({
    destination: z.string(),
    outcome: z.enum(['sent', 'filtered', 'waiting', 'refused', 'sent again']).meta({
      description:
        'sent: also an event that was stored before the destination was added; filtered: left out by the current filter of the destination; refused: rejected by the destination; sent again: rejected, then sent successfully',
    }),
    state: z.enum(['running', 'paused', 'refused']).meta({ description: 'of the destination, now' }),
    reason: z.string().nullable().meta({ description: 'why it was refused' }),
    rejected_at: time.nullable(),
    replayed_at: time.nullable(),
  })
  .meta({ id: 'EventForwarding' });

/** One event with what brought it and where it went. */
export const eventDetailSchema = z.object({
  event: eventSchema,
  delivery: z
    .object({
      delivery_id: z.string(),
      received_at: time,
      stored_at: time,
      source: z.string(),
      message_type: z.string(),
      origin: z.enum(['webhook', 'backfill']),
      secret_form: z
        .string()
        .nullable()
        .meta({ description: 'in which form the secret came: basic, bearer, raw, header or hmac' }),
      body_bytes: z.number(),
      record_count: z.number(),
      expected_count: z.number(),
      event_count: z.number(),
      duplicate_count: z.number(),
      quarantined_count: z.number(),
    })
    .nullable()
    .meta({ description: 'null when retention has dropped it' }),
  forwarding: z.array(forwardingSchema),
});

/** How far an export is. */
export const exportSchema = z
  .object({
    state: z.enum(['running', 'done', 'failed']),
    rows: z.number().meta({ description: 'written so far' }),
    bytes: z.number().meta({ description: 'written so far' }),
    expected_rows: z
      .number()
      .nullable()
      .meta({ description: 'null while not counted, or when there are more than a million' }),
  })
  .meta({ id: 'Export' });
