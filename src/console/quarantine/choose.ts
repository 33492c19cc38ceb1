import type { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { describeIds } from '../../store/operator-log.ts';
import { findQuarantined, pageOfOpen } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { writeCursor } from '../api/cursor.ts';
import { filterOf } from './quarantined-schemas.ts';
import type { chosenBody } from './quarantined-schemas.ts';

/** What one request works on, and where the next one goes on. */
export interface ChosenPart {
  readonly items: readonly Quarantined[];
  /** Asked for by id, and not there. */
  readonly missing: readonly string[];
  /** Undefined when that is all. */
  readonly next: string | undefined;
}

/** Finds what is chosen: these ids, or a part of what is open and matches, oldest first. */
export async function choosePart(db: Db, body: z.output<typeof chosenBody>): Promise<ChosenPart> {
  const { ids, matching = {}, limit, cursor } = body;
  if (ids !== undefined) {
    const items = await findQuarantined(db, ids);
    const found = new Set(items.map((item) => item.quarantine_id));
    return { items, missing: ids.filter((id) => !found.has(id.toLowerCase())), next: undefined };
  }
  const { items, next } = await pageOfOpen(db, filterOf(matching), limit, cursor);
  return { items, missing: [], next: next && writeCursor({ ...next }) };
}

/** What was chosen, as the operator log keeps it. */
export function describeChoice({
  ids,
  matching,
}: z.output<typeof chosenBody>): Readonly<Record<string, unknown>> {
  return ids === undefined ? { filter: matching } : describeIds(ids);
}
