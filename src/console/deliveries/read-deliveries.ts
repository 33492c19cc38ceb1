import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import {
  eventsOfDelivery,
  findDelivery,
  readRecordedLoss,
  searchDeliveries,
  sumDeliveries,
  type Delivery,
  type DeliverySums,
  type RecordedLoss,
} from '../../store/search-deliveries.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { findReplayed, quarantinedOf, type Quarantined } from '../../store/search-quarantine.ts';
import type { Scope } from '../../store/scope.ts';
import { pageOf, writeCursor, type PageOf } from '../api/paging.ts';
import { filterOf, type deliveryQuery } from './delivery-schemas.ts';

/** One page of deliveries, newest first. */
export interface PageOfDeliveries extends PageOf<Delivery> {
  /** Set if the search stopped at this time because it took too long. */
  readonly lookedBackTo: Date | undefined;
  /** The totals of all that match; undefined if that took too long. */
  readonly sums: DeliverySums | undefined;
}

/** Reads one page of the matching deliveries, and their totals. */
export async function readDeliveries(
  db: Db,
  scope: Scope,
  query: z.output<typeof deliveryQuery>,
): Promise<PageOfDeliveries> {
  const { limit, cursor } = query;
  const after = cursor && { receivedAt: cursor.at, deliveryId: cursor.id };
  const filter = filterOf(query);
  const [{ deliveries, lookedBackTo }, sums] = await Promise.all([
    searchDeliveries(db, scope, filter, { limit: limit + 1, after }),
    sumDeliveries(db, scope, filter),
  ]);
  const page = pageOf(deliveries, limit, ({ received_at: at, delivery_id: id }) =>
    writeCursor({ at: at.toISOString(), id }),
  );
  return { ...page, lookedBackTo, sums };
}

/** The maximum number of events and of quarantined records that are shown of one delivery. */
export const MOST_OF_EACH = 200;

/** A delivery with its events and its quarantined records. */
export interface DescribedDelivery {
  readonly delivery: Delivery;
  /** The first of its events; undefined if not all of them were found in time. */
  readonly events: readonly StoredEvent[] | undefined;
  /** What is on record about those that were not found. */
  readonly loss: RecordedLoss | undefined;
  readonly quarantined: readonly Quarantined[];
  /** The quarantined item that it replayed. */
  readonly replayOf: string | undefined;
}

/** Reads one delivery. Throws HttpError 404 if it is not stored. */
export async function describeDelivery(db: Db, scope: Scope, id: string): Promise<DescribedDelivery> {
  const delivery = await findDelivery(db, scope, id);
  if (delivery === undefined) {
    const message = `delivery ${id} is not stored; if it was acknowledged just now, try again in a moment`;
    throw new HttpError(404, 'UNKNOWN_DELIVERY', message);
  }
  const [events, quarantined, replayOf] = await Promise.all([
    eventsOfDelivery(db, scope, delivery, MOST_OF_EACH),
    quarantinedOf(db, scope, id, MOST_OF_EACH),
    findReplayed(db, scope, id),
  ]);
  const loss = events === undefined ? await readRecordedLoss(db, delivery) : undefined;
  return { delivery, events, loss, quarantined, replayOf };
}
