import type { Db } from '../../store/database.ts';
import { pageOfRejected } from '../../store/rejected-events.ts';
import type { Rejected } from '../../store/rejected-events.ts';
import { writeCursor } from '../api/cursor.ts';

/** Some events that a destination has refused, and where to go on. */
export interface PageOfRejected {
  readonly items: readonly Rejected[];
  /** Undefined at the end. */
  readonly next: string | undefined;
}

/** Reads one page of the events that a destination has refused and that were not sent again. */
export async function readRejected(
  db: Db,
  name: string,
  limit: number,
  after: string | undefined,
): Promise<PageOfRejected> {
  // One more tells whether there is a next page.
  const found = await pageOfRejected(db, name, limit + 1, after);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { items, next: hasMore ? writeCursor({ id: last.event_id }) : undefined };
}
