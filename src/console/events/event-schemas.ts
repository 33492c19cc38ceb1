import { z } from 'zod';
import { ORIGINS, FAMILIES, MESSAGE_TYPES } from '../../domain.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { toAnswer } from '../api/answer.ts';
import { isoTime, moment } from '../api/moment.ts';
import { deliverySchema } from '../deliveries/delivery-schemas.ts';

/** One event, by its id and, if known, its time. */
export const oneEvent = z.object({
  path: z.object({ event_id: z.guid('must be the id of an event') }),
  query: z.object({
    at: moment.optional().describe('occurred_at of the event; makes the lookup fast'),
  }),
});

const time = z.string().describe('ISO 8601 in UTC');

/** The names in the inventory at the time of an event. */
const namesSchema = z
  .object({
    access_point: z.string().nullable().describe('host name'),
    place: z.string().nullable().describe('building and floor'),
    person: z.string().nullable().describe('name of the user, if it is one of the account in the cloud'),
    role: z.string().nullable(),
  })
  .meta({ id: 'EventNames' });

/** One event as the API answers it. */
export const eventSchema = z
  .object({
    event_id: z.string().describe('derived from the content: identical events have the same id'),
    delivery_id: z.string().describe('the delivery that contained it'),
    source: z.string(),
    message_type: z.enum(MESSAGE_TYPES),
    family: z.enum(FAMILIES),
    occurred_at: time,
    received_at: time,
    owner_id: z.string().nullable(),
    org_id: z.string().nullable(),
    origin: z.enum(ORIGINS),
    columns: z
      .record(z.string(), z.union([z.string(), z.array(z.string()), z.null()]))
      .describe('the typed columns of the message type by name, as text'),
    payload: z
      .record(z.string(), z.unknown())
      .describe('the record as sent, with every digit of its numbers'),
    names: namesSchema
      .optional()
      .describe('names that the inventory had at the time of the event; absent if it had none'),
  })
  .meta({ id: 'Event', description: 'One stored event' });

/** An event as the API answers it. */
export function toEventAnswer(event: StoredEvent): z.input<typeof eventSchema> {
  return {
    ...toAnswer(event),
    columns: Object.fromEntries(
      Object.entries(event.columns).map(([name, value]) => [
        name,
        typeof value === 'string' || value === null ? value : [...value],
      ]),
    ),
    names: event.names && toAnswer(event.names),
  };
}

/** One page of events. */
export const eventPageSchema = z.object({
  items: z.array(eventSchema),
  next_cursor: z.string().nullable().describe('cursor of the next page; null on the last page'),
});

/** Events over time. */
export const histogramSchema = z
  .object({
    since: isoTime,
    until: isoTime,
    bucket_seconds: z.number().describe('width of a bucket'),
    bars: z.array(
      z.object({
        start: isoTime,
        counts: z.partialRecord(z.enum(MESSAGE_TYPES), z.number()),
      }),
    ),
    is_complete: z
      .boolean()
      .describe('false if counting timed out: the counts are then estimates, or missing'),
  })
  .meta({ id: 'Histogram', description: 'The number of events in each bucket of a range' });

/** The most frequent values of a field. */
export const facetSchema = z
  .object({
    values: z.array(z.object({ value: z.string(), count: z.number() })),
    is_complete: z.boolean().describe('false if counting timed out: there are then no values'),
  })
  .meta({ id: 'Facet', description: 'The number of matching events by the values of a field' });

/** Whether a destination received an event. */
const forwardingSchema = z
  .object({
    destination: z.string(),
    outcome: z
      .enum(['sent', 'filtered', 'waiting', 'rejected', 'resent'])
      .describe(
        'sent: also an event that was stored before the destination was added; filtered: excluded by the current filter of the destination; waiting: not reached yet; rejected: by the destination, because of its content; resent: rejected first, then sent',
      ),
    state: z.enum(['running', 'paused', 'refused']).describe('current state of the destination'),
    reason: z.string().nullable().describe('why it was rejected'),
    rejected_at: isoTime.nullable(),
    replayed_at: isoTime.nullable(),
  })
  .meta({ id: 'EventForwarding' });

/** An event compared with the seal. */
export const sealSchema = z
  .object({
    state: z
      .enum(['waiting', 'proven', 'altered'])
      .describe(
        'waiting: sealed and signed within a minute; proven: the row is what the latest checkpoint signs; altered: it is not, see verify',
      ),
    leaf: z.number().nullable().describe('number of its leaf in the tree'),
    checkpoint_size: z.number().nullable().describe('leaves that the latest checkpoint signs'),
    signed_at: isoTime.nullable().describe('when that was signed'),
  })
  .meta({ id: 'EventSeal' });

/** One event with its delivery, its forwarding and its seal. */
export const eventDetailSchema = z.object({
  title: z.string().describe('what happened, in a few words'),
  sentence: z.string().describe('what happened, in a sentence'),
  event: eventSchema,
  delivery: deliverySchema.nullable().describe('null if retention has dropped it'),
  forwarding: z.array(forwardingSchema),
  seal: sealSchema,
});

/** The progress of an export. */
export const exportSchema = z
  .object({
    state: z.enum(['running', 'done', 'failed']),
    rows: z.number().describe('written so far'),
    bytes: z.number().describe('written so far'),
    expected_rows: z.number().nullable().describe('null until counted, and if there are more than a million'),
  })
  .meta({ id: 'Export' });
