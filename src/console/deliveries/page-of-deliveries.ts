import type { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { searchDeliveries } from '../../store/search-deliveries.ts';
import type { Delivery } from '../../store/search-deliveries.ts';
import { writeCursor } from '../api/cursor.ts';
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
export async function readPage(db: Db, query: z.output<typeof deliveryQuery>): Promise<PageOfDeliveries> {
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
