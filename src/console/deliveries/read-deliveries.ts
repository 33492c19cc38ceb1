import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { eventsOfDelivery } from '../../store/delivery-events.ts';
import type { StoredEvent } from '../../store/read-events.ts';
import { findDelivery, searchDeliveries } from '../../store/search-deliveries.ts';
import type { Delivery } from '../../store/search-deliveries.ts';
import { findReplayed, quarantinedOf } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { writeCursor } from '../api/paging.ts';
import { filterOf } from './delivery-schemas.ts';
import type { deliveryQuery } from './delivery-schemas.ts';

/** Some deliveries, newest first, and where to go on. */
export interface PageOfDeliveries {
  readonly deliveries: readonly Delivery[];
  /** Undefined at the end. */
  readonly next: string | undefined;
  /** Set when looking further back than this took too long. */
  readonly lookedBackTo: Date | undefined;
}

/** Reads one page of the deliveries that match. */
export async function readDeliveries(
  db: Db,
  query: z.output<typeof deliveryQuery>,
): Promise<PageOfDeliveries> {
  const { limit, cursor } = query;
  const after = cursor && { receivedAt: cursor.at, deliveryId: cursor.id };
  // One more tells whether there is a next page.
  const found = await searchDeliveries(db, filterOf(query), { limit: limit + 1, after });
  const deliveries = found.deliveries.slice(0, limit);
  const last = deliveries.at(-1);
  const hasMore = found.deliveries.length > limit && last !== undefined;
  return {
    deliveries,
    next: hasMore ? writeCursor({ at: last.received_at.toISOString(), id: last.delivery_id }) : undefined,
    lookedBackTo: found.lookedBackTo,
  };
}

/** Of a large delivery, so many events and quarantined records are shown. */
export const MOST_OF_EACH = 200;

/** A delivery with what it brought. */
export interface DescribedDelivery {
  readonly delivery: Delivery;
  /** The first of its events; undefined when they could not be found in time. */
  readonly events: readonly StoredEvent[] | undefined;
  readonly quarantined: readonly Quarantined[];
  /** What it is a replay of. */
  readonly replayOf: string | undefined;
}

/** One delivery and what it brought. Throws HttpError 404 when it is not stored. */
export async function describeDelivery(db: Db, id: string): Promise<DescribedDelivery> {
  const delivery = await findDelivery(db, id);
  if (delivery === undefined) {
    const message = `no delivery ${id} is stored; one that was just acknowledged may still be on its way`;
    throw new HttpError(404, 'UNKNOWN_DELIVERY', message);
  }
  const [events, quarantined, replayOf] = await Promise.all([
    eventsOfDelivery(db, delivery, MOST_OF_EACH),
    quarantinedOf(db, id, MOST_OF_EACH),
    findReplayed(db, id),
  ]);
  return { delivery, events, quarantined, replayOf };
}
