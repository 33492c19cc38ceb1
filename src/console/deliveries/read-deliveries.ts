import { z } from 'zod';
import { ORIGINS } from '../../events/domain.ts';
import {
  eventsOfDelivery,
  findDelivery,
  searchDeliveries,
} from '../../store/deliveries/search-deliveries.ts';
import { isoTime, limit } from '../api/parameters.ts';
import { cursorOf, pageOf, writeCursor } from '../api/paging.ts';
import { deliveredType, withValidRange, rangeShape } from '../events/conditions.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { findReplayed, quarantinedOf } from '../../store/quarantine/search-quarantine.ts';
import type { Scope } from '../../store/server/scope.ts';

const count = z.number().int();

export const deliverySchema = z
  .object({
    delivery_id: z.string(),
    received_at: isoTime,
    stored_at: isoTime,
    source: z.string(),
    message_type: deliveredType,
    sent_type: z.string().nullable().describe('for OTHER: original name of the message type'),
    origin: z.enum(ORIGINS),
    secret_form: z.string().nullable().describe('form in which the secret was sent'),
    body_bytes: count,
    record_count: count.describe('as in the receipt'),
    expected_count: count.describe('event_count + duplicate_count + quarantined_count'),
    event_count: count,
    duplicate_count: count.describe('events that an earlier delivery had already stored'),
    quarantined_count: count,
    refused_count: count.describe('records of erased people, which were not stored again'),
  })
  .meta({ id: 'Delivery', description: 'One inbound POST and its result' });

export const deliveryQuery = withValidRange({
  ...rangeShape,
  type: deliveredType.optional(),
  limit: limit(50, 500),
  cursor: cursorOf(z.object({ at: z.iso.datetime().transform((text) => new Date(text)), id: z.uuid() })),
});

/** One page of deliveries, newest first: `lookedBackTo` is set if the search stopped at this time because it took too long. */
export async function readDeliveries(db: Db, scope: Scope, query: z.output<typeof deliveryQuery>) {
  const { type, limit, cursor, ...conditions } = query;
  const after = cursor && { receivedAt: cursor.at, deliveryId: cursor.id };
  const { deliveries, lookedBackTo } = await searchDeliveries(
    db,
    scope,
    { ...conditions, messageType: type },
    { limit: limit + 1, after },
  );
  const page = pageOf(deliveries, limit, ({ received_at: at, delivery_id: id }) =>
    writeCursor({ at: at.toISOString(), id }),
  );
  return { ...page, lookedBackTo };
}

/** The maximum number of events and of quarantined records that are shown of one delivery. */
export const MOST_OF_EACH = 200;

export type DescribedDelivery = Awaited<ReturnType<typeof describeDelivery>>;

/** Reads one delivery; `events` are undefined if not all of them were found in time. Throws HttpError 404 if it is not stored. */
export async function describeDelivery(db: Db, scope: Scope, id: string) {
  const delivery = await findDelivery(db, scope, id);
  if (delivery === undefined) {
    const message = `delivery ${id} is not stored; if it was only just acknowledged, try again in a moment`;
    throw new HttpError(404, 'UNKNOWN_DELIVERY', message);
  }
  const [events, quarantined, replayOf] = await Promise.all([
    eventsOfDelivery(db, scope, delivery, MOST_OF_EACH),
    quarantinedOf(db, scope, id, MOST_OF_EACH),
    findReplayed(db, scope, id),
  ]);
  return { delivery, events, quarantined, replayOf };
}
