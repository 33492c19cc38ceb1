import type { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeIds } from '../../store/operator-log.ts';
import { findReplayTallies, type ReplayTally } from '../../store/quarantine.ts';
import {
  countQuarantine,
  findQuarantined,
  findReplayed,
  pageOfOpen,
  searchQuarantine,
  type Quarantined,
} from '../../store/search-quarantine.ts';
import type { Scope } from '../../store/scope.ts';
import { pageOf, writeCursor, type PageOf } from '../api/paging.ts';
import { filterOf, type chosenBody, type quarantineQuery } from './quarantine-schemas.ts';

/** One page of quarantined items, newest first, and the total number of matches. */
export interface PageOfQuarantine extends PageOf<Quarantined> {
  readonly total: number;
}

/** Reads one page of the matching quarantined items. */
export async function readQuarantine(
  db: Db,
  scope: Scope,
  query: z.output<typeof quarantineQuery>,
): Promise<PageOfQuarantine> {
  const { limit, state, cursor } = query;
  const filter = filterOf(query);
  const [found, total] = await Promise.all([
    searchQuarantine(db, scope, filter, state, limit + 1, cursor?.id),
    countQuarantine(db, scope, filter, state),
  ]);
  return { ...pageOf(found, limit, ({ quarantine_id: id }) => writeCursor({ id })), total };
}

/** A quarantined item and the result of its replay. */
export interface DescribedQuarantined {
  readonly item: Quarantined;
  /** The item whose replay quarantined this one. */
  readonly replayOf: string | undefined;
  /** The result of its own replay. */
  readonly account: ReplayTally | undefined;
}

/** Reads one quarantined item without its content. Throws HttpError 404 if there is none. */
export async function describeQuarantined(db: Db, scope: Scope, id: string): Promise<DescribedQuarantined> {
  const [item] = await findQuarantined(db, scope, [id]);
  if (item === undefined) {
    throw new HttpError(404, 'UNKNOWN_QUARANTINED', `no quarantined item has the id ${id}`);
  }
  const { replay_delivery_id: replayId } = item;
  const [replayOf, accounts] = await Promise.all([
    findReplayed(db, scope, item.delivery_id),
    replayId === null ? undefined : findReplayTallies(db, scope, [replayId]),
  ]);
  return { item, replayOf, account: replayId === null ? undefined : accounts?.get(replayId) };
}

/** The items of one request, and the cursor of the next one. */
export interface ChosenPart {
  readonly items: readonly Quarantined[];
  /** Ids that do not exist. */
  readonly missing: readonly string[];
  /** Undefined after the last part. */
  readonly next: string | undefined;
}

/** Finds the chosen items: those ids, or one part of the matching open items, oldest first. */
export async function choosePart(
  db: Db,
  scope: Scope,
  body: z.output<typeof chosenBody>,
): Promise<ChosenPart> {
  const { ids, matching = {}, limit, cursor } = body;
  if (ids !== undefined) {
    const items = await findQuarantined(db, scope, ids);
    const found = new Set(items.map((item) => item.quarantine_id));
    return { items, missing: ids.filter((id) => !found.has(id.toLowerCase())), next: undefined };
  }
  const { items, next } = await pageOfOpen(db, scope, filterOf(matching), limit, cursor);
  return { items, missing: [], next: next && writeCursor({ ...next }) };
}

/** The choice for the operator log. */
export function describeChoice({
  ids,
  matching,
}: z.output<typeof chosenBody>): Readonly<Record<string, unknown>> {
  return ids === undefined ? { filter: matching } : describeIds(ids);
}
