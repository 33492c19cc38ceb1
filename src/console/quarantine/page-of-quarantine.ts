import type { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { countQuarantine, searchQuarantine } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { writeCursor } from '../api/cursor.ts';
import { filterOf } from './quarantined-schemas.ts';
import type { quarantineQuery } from './quarantined-schemas.ts';

/** Some of what matches, newest first, how much there is of it, and where to go on. */
export interface PageOfQuarantine {
  readonly items: readonly Quarantined[];
  readonly total: number;
  /** Undefined at the end. */
  readonly next: string | undefined;
}

/** Reads one page of what lies in quarantine and matches. */
export async function readPage(db: Db, query: z.output<typeof quarantineQuery>): Promise<PageOfQuarantine> {
  const { limit, state, cursor } = query;
  const filter = filterOf(query);
  const [found, total] = await Promise.all([
    // One more tells whether there is a next page.
    searchQuarantine(db, filter, state, limit + 1, cursor?.id),
    countQuarantine(db, filter, state),
  ]);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { items, total, next: hasMore ? writeCursor({ id: last.quarantine_id }) : undefined };
}
