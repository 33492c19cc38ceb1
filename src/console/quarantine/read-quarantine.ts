import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeIds } from '../../store/operator-log.ts';
import { findAccounts } from '../../store/resolve-quarantine.ts';
import type { ReplayAccount } from '../../store/resolve-quarantine.ts';
import {
  countQuarantine,
  findQuarantined,
  findReplayed,
  pageOfOpen,
  searchQuarantine,
} from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { writeCursor } from '../api/paging.ts';
import { filterOf } from './quarantine-schemas.ts';
import type { chosenBody, quarantineQuery } from './quarantine-schemas.ts';

/** Some of what matches, newest first, how much there is of it, and where to go on. */
export interface PageOfQuarantine {
  readonly items: readonly Quarantined[];
  readonly total: number;
  /** Undefined at the end. */
  readonly next: string | undefined;
}

/** Reads one page of what lies in quarantine and matches. */
export async function readQuarantine(
  db: Db,
  query: z.output<typeof quarantineQuery>,
): Promise<PageOfQuarantine> {
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

/** Something in quarantine, and what became of it. */
export interface DescribedQuarantined {
  readonly item: Quarantined;
  /** What its delivery is a replay of. */
  readonly replayOf: string | undefined;
  /** What its own replay came to. */
  readonly account: ReplayAccount | undefined;
}

/** One in quarantine, all but its bytes. Throws HttpError 404 when it is not there. */
export async function describeQuarantined(db: Db, id: string): Promise<DescribedQuarantined> {
  const [item] = await findQuarantined(db, [id]);
  if (item === undefined) {
    throw new HttpError(404, 'UNKNOWN_QUARANTINED', `there is no ${id} in quarantine`);
  }
  const { replay_delivery_id: replayId } = item;
  const [replayOf, accounts] = await Promise.all([
    findReplayed(db, item.delivery_id),
    replayId === null ? undefined : findAccounts(db, [replayId]),
  ]);
  return { item, replayOf, account: replayId === null ? undefined : accounts?.get(replayId) };
}

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
