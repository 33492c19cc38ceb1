import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { eventsOfDelivery, findDelivery } from '../../store/search-deliveries.ts';
import type { Delivery } from '../../store/search-deliveries.ts';
import { findReplayed, quarantinedOf } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import type { StoredEvent } from '../../store/stored-event.ts';

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
