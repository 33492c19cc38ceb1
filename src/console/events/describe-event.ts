import { z } from 'zod';
import { ORIGINS, FAMILIES, MESSAGE_TYPES } from '../../events/domain.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import { toAnswer } from '../api/route.ts';
import { isoTime, moment } from '../api/parameters.ts';
import { deliverySchema } from '../deliveries/read-deliveries.ts';
import { HttpError } from '../../lib/errors.ts';
import { sentenceOfEvent, titleOfEvent } from '../../events/event-words.ts';
import { sealOf, type Seal } from '../../seal/prove-event.ts';
import type { Trust } from '../../seal/trust.ts';
import type { Db } from '../../store/server/database.ts';
import { withNames } from '../../store/reconcile/inventory.ts';
import { forwardingOf, type EventForwarding } from '../../store/destinations/rejected-events.ts';
import { findDelivery } from '../../store/deliveries/search-deliveries.ts';
import { findEvent } from '../../store/events/search-events.ts';
import { ALL_SOURCES, type Scope } from '../../store/server/scope.ts';

/** One event, by its id and, if known, its time. */
export const oneEvent = {
  path: z.object({ event_id: z.guid('must be the id of an event') }),
  query: z.object({
    at: moment.optional().describe('occurred_at of the event; makes the lookup fast'),
  }),
};

const time = z.string().describe('ISO 8601 in UTC');

const namesSchema = z
  .object({
    access_point: z.string().nullable().describe('host name'),
    place: z.string().nullable().describe('building and floor'),
    person: z.string().nullable().describe('name of the user, if the cloud account has this user'),
    role: z.string().nullable(),
    organization: z.string().nullable().describe('name of the organization org_id'),
  })
  .meta({ id: 'EventNames' });

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
      .describe('false if counting timed out: the counts are then estimates or missing'),
  })
  .meta({ id: 'Histogram', description: 'The number of events in each bucket of a range' });

export type Histogram = z.output<typeof histogramSchema>;

export const facetSchema = z
  .object({
    values: z.array(
      z.object({
        value: z.string(),
        count: z.number(),
        name: z.string().optional().describe('host name of an access point, if records have it'),
      }),
    ),
    is_complete: z
      .boolean()
      .describe('whether all events in the range are counted: false if counting takes too long'),
    since: isoTime
      .nullable()
      .describe(
        'the time since which events are counted; null: not even the newest could be counted in time',
      ),
  })
  .meta({ id: 'Facet', description: 'The number of matching events by the values of a field' });

export type CountedFacet = z.output<typeof facetSchema>;

const forwardingSchema = z
  .object({
    destination: z.string(),
    outcome: z
      .enum(['sent', 'filtered', 'waiting', 'rejected', 'resent'])
      .describe(
        'sent: includes events stored before the destination was added; filtered: excluded by the current filter of the destination; waiting: not reached yet; rejected: by the destination, because of its content; resent: first rejected, then sent',
      ),
    state: z.enum(['running', 'paused', 'refused']).describe('current state of the destination'),
    reason: z.string().nullable().describe('why it was rejected'),
    rejected_at: isoTime.nullable(),
    replayed_at: isoTime.nullable(),
  })
  .meta({ id: 'EventForwarding' });

const sealSchema = z
  .object({
    state: z
      .enum(['waiting', 'proven', 'altered'])
      .describe(
        'waiting: will be sealed and signed within a minute; proven: the row matches the latest checkpoint; altered: it does not, see verify',
      ),
    leaf: z.number().nullable().describe('number of its leaf in the tree'),
    checkpoint_size: z.number().nullable().describe('leaves signed by the latest checkpoint'),
    signed_at: isoTime.nullable().describe('when the latest checkpoint was signed'),
  })
  .meta({ id: 'EventSeal' });

export const eventDetailSchema = z.object({
  title: z.string().describe('a short summary'),
  sentence: z.string().describe('what happened, in one sentence'),
  event: eventSchema,
  delivery: deliverySchema.nullable().describe('null if retention has dropped it'),
  forwarding: z.array(forwardingSchema),
  seal: sealSchema,
});

export const exportSchema = z
  .object({
    state: z.enum(['running', 'done', 'failed']),
    rows: z.number().describe('written so far'),
    bytes: z.number().describe('written so far'),
    expected_rows: z.number().nullable().describe('null until counted, and if there are more than a million'),
  })
  .meta({ id: 'Export' });

export type ExportProgress = z.output<typeof exportSchema>;

/** Whether the filter of a configured destination leaves an event out. */
export type IsFiltered = (destination: string, event: StoredEvent) => boolean;

/** What the page of an event needs. */
export interface EventDetailNeeds {
  readonly db: Db;
  readonly isFiltered: IsFiltered;
  /** What this machine knows of the log. */
  readonly trust: () => Promise<Trust>;
}

/**
 * Reads one event with the names of its time, its delivery and its forwarding, for the API. Throws HttpError 404 if it is
 * not stored.
 */
export async function describeEvent(
  { db, isFiltered, trust }: EventDetailNeeds,
  scope: Scope,
  eventId: string,
  occurredAt: Date | undefined,
): Promise<z.input<typeof eventDetailSchema>> {
  const event = await findEvent(db, scope, eventId, occurredAt);
  if (event === undefined) {
    const hint =
      occurredAt === undefined
        ? 'was not found within a few seconds; add its time (at=), or search for it'
        : `is not stored at ${occurredAt.toISOString()}; retention may have dropped it`;
    throw new HttpError(404, 'NOT_FOUND', `event ${eventId} ${hint}`);
  }
  const [delivery, forwarding, seal, [named = event]] = await Promise.all([
    findDelivery(db, scope, event.deliveryId),
    forwardingOf(db, event),
    trust().then((known) => sealOf(db, event, known)),
    withNames(db, scope, [event]),
  ]);
  return {
    title: titleOfEvent(named),
    sentence: sentenceOfEvent(named),
    event: toEventAnswer(named),
    delivery: delivery ?? null,
    forwarding: forwarding
      .map((one) => ({ ...toAnswer(one), outcome: outcomeOf(one, isFiltered(one.destination, event)) }))
      // The destinations of other sources leave it out, and are not named to those who see only some.
      .filter(({ outcome }) => scope === ALL_SOURCES || outcome !== 'filtered'),
    seal: toSealAnswer(seal),
  };
}

/** Whether a destination received an event, in a word. */
function outcomeOf(
  { hasPassed, rejectedAt, replayedAt }: EventForwarding,
  isFiltered: boolean,
): z.input<typeof forwardingSchema>['outcome'] {
  if (rejectedAt !== null) return replayedAt === null ? 'rejected' : 'resent';
  if (isFiltered) return 'filtered';
  return hasPassed ? 'sent' : 'waiting';
}

function toSealAnswer(seal: Seal): z.input<typeof sealSchema> {
  const { state } = seal;
  const unsigned = { state, leaf: null, checkpoint_size: null, signed_at: null };
  if (state === 'waiting') return unsigned;
  if (state === 'altered') return { ...unsigned, leaf: seal.leaf };
  const { leaf, size, signedAt } = seal.proof;
  return { state, leaf, checkpoint_size: size, signed_at: signedAt };
}
