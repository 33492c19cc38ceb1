import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import { sentenceOfEvent, titleOfEvent } from '../../event-words.ts';
import { sealOf, type Seal } from '../../ledger/prove-event.ts';
import type { Db } from '../../store/database.ts';
import { withNames } from '../../store/names-as-of.ts';
import { forwardingOf, type EventForwarding } from '../../store/rejected-events.ts';
import { findDelivery } from '../../store/search-deliveries.ts';
import { findEvent } from '../../store/search-events.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import type { Scope } from '../../store/scope.ts';
import { toAnswer } from '../api/answer.ts';
import { toEventAnswer, type eventDetailSchema, type sealSchema } from './event-schemas.ts';

/** Whether the filter of a configured destination leaves an event out. */
export type IsFiltered = (destination: string, event: StoredEvent) => boolean;

/**
 * Reads one event with the names of its time, its delivery and its forwarding, for the API. Throws HttpError 404 if it is
 * not stored.
 */
export async function describeEvent(
  db: Db,
  scope: Scope,
  eventId: string,
  occurredAt: Date | undefined,
  isFiltered: IsFiltered,
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
    sealOf(db, event),
    withNames(db, scope, [event]),
  ]);
  return {
    title: titleOfEvent(named),
    sentence: sentenceOfEvent(named),
    event: toEventAnswer(named),
    delivery: delivery ?? null,
    forwarding: forwarding.map((one) => ({
      ...toAnswer(one),
      outcome: outcomeOf(one, isFiltered(one.destination, event)),
    })),
    seal: toSealAnswer(seal),
  };
}

/** Whether a destination received an event, in a word. */
function outcomeOf({ hasPassed, rejectedAt, replayedAt }: EventForwarding, isFiltered: boolean) {
  if (rejectedAt !== null) return replayedAt === null ? 'rejected' : 'resent';
  if (isFiltered) return 'filtered';
  return hasPassed ? 'sent' : 'waiting';
}

function toSealAnswer(seal: Seal): z.input<typeof sealSchema> {
  const { state } = seal;
  switch (state) {
    case 'waiting':
      return { state, leaf: null, checkpoint_size: null, signed_at: null };
    case 'altered':
      return { state, leaf: seal.leaf, checkpoint_size: null, signed_at: null };
    case 'proven': {
      const { leaf, size, signedAt } = seal.proof;
      return { state, leaf, checkpoint_size: size, signed_at: signedAt };
    }
  }
}
