import { z } from 'zod';
import { formatPosition, parsePosition } from '../../event-position.ts';
import type { Db } from '../../store/database.ts';
import type { EventFilter } from '../../store/event-filter.ts';
import type { EventPosition } from '../../store/event-pages.ts';
import { searchEvents } from '../../store/search-events.ts';
import type { StoredEvent } from '../../store/stored-event.ts';

/** Where a page begins, as the page before it says; a parameter of a query. */
export const cursor = z
  .string({ error: 'can be given once' })
  .transform((text, context) => {
    const position = parsePosition(text);
    if (position !== undefined) return position;
    context.addIssue({ code: 'custom', message: 'takes what an earlier page gave as next_cursor' });
    return z.NEVER;
  })
  .optional()
  .meta({ description: 'next_cursor of the page before' });

/** Some events, newest first, and where to go on. */
export interface PageOfEvents {
  readonly events: readonly StoredEvent[];
  /** Undefined at the end. */
  readonly next: string | undefined;
}

/** Reads one page of the events that match. */
export async function readPage(
  db: Db,
  filter: EventFilter,
  { limit, after }: { readonly limit: number; readonly after: EventPosition | undefined },
): Promise<PageOfEvents> {
  // One more tells whether there is a next page.
  const found = await searchEvents(db, filter, { limit: limit + 1, after });
  const events = found.slice(0, limit);
  const last = events.at(-1);
  return { events, next: found.length > limit && last !== undefined ? formatPosition(last) : undefined };
}
