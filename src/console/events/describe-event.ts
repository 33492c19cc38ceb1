import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { forwardingOf } from '../../store/event-forwarding.ts';
import type { EventForwarding } from '../../store/event-forwarding.ts';
import { findDelivery } from '../../store/find-delivery.ts';
import type { StoredDelivery } from '../../store/find-delivery.ts';
import { findEvent } from '../../store/find-event.ts';
import type { StoredEvent } from '../../store/read-events.ts';
import { toEventAnswer } from './event-schemas.ts';
import type { eventDetailSchema, forwardingSchema } from './event-schemas.ts';

/** One event, its delivery and its forwarding. */
export interface EventDetail {
  readonly event: StoredEvent;
  readonly delivery: StoredDelivery | undefined;
  readonly forwarding: readonly EventForwarding[];
}

/** Reads one event with its delivery and its forwarding. Throws HttpError 404 if it is not stored. */
export async function describeEvent(
  db: Db,
  eventId: string,
  occurredAt: Date | undefined,
): Promise<EventDetail> {
  const event = await findEvent(db, eventId, occurredAt);
  if (event === undefined) {
    const hint =
      occurredAt === undefined
        ? 'was not found within a few seconds; add its time (at=), or search for it'
        : `is not stored at ${occurredAt.toISOString()}; retention may have dropped it`;
    throw new HttpError(404, 'NOT_FOUND', `event ${eventId} ${hint}`);
  }
  const [delivery, forwarding] = await Promise.all([
    findDelivery(db, event.deliveryId),
    forwardingOf(db, event),
  ]);
  return { event, delivery, forwarding };
}

type Outcome = z.input<typeof forwardingSchema>['outcome'];

/** Whether a destination received an event, in a word. */
export function outcomeOf({ hasPassed, rejectedAt, replayedAt }: EventForwarding): Outcome {
  if (rejectedAt !== null) return replayedAt === null ? 'rejected' : 'resent';
  return hasPassed ? 'passed' : 'waiting';
}

/** The detail of an event for the API. */
export function toDetailAnswer({
  event,
  delivery,
  forwarding,
}: EventDetail): z.input<typeof eventDetailSchema> {
  return {
    event: toEventAnswer(event),
    delivery:
      delivery === undefined
        ? null
        : {
            ...delivery,
            received_at: delivery.received_at.toISOString(),
            stored_at: delivery.stored_at.toISOString(),
          },
    forwarding: forwarding.map((one) => ({
      destination: one.destination,
      outcome: outcomeOf(one),
      state: one.state,
      reason: one.reason,
      rejected_at: one.rejectedAt?.toISOString() ?? null,
      replayed_at: one.replayedAt?.toISOString() ?? null,
    })),
  };
}
