import { validate as isUuid } from 'uuid';
import { commandName } from '../../command-name.ts';
import { UsageError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeIds } from '../../store/operator-log.ts';
import { countQuarantine, openQuarantine, type QuarantineFilter } from '../../store/search-quarantine.ts';
import { ALL_SOURCES } from '../../store/scope.ts';

/** The items that a command works on: those with these ids, else open items that match the filter, or all with `all`. */
export interface Chosen {
  readonly ids: readonly string[];
  readonly filter: QuarantineFilter;
  readonly all: boolean;
}

/** Items per query, without their content. */
export const PAGE = 500;

/** Throws a UsageError unless the items are chosen in exactly one way. */
export function checkChosen({ ids, filter, all }: Chosen): void {
  checkIds(ids);
  const isFiltered = Object.values(filter).some((condition) => condition !== undefined);
  if (ids.length > 0 && (isFiltered || all)) {
    throw new UsageError('Give either ids, or a filter or --all.');
  }
  if (ids.length === 0 && !isFiltered && !all) {
    throw new UsageError('Choose items by ids, by a filter such as --type or --reason, or with --all.');
  }
}

/** The choice as the operator log records it. */
export function describeChosen({ ids, filter, all }: Chosen): Readonly<Record<string, unknown>> {
  if (ids.length > 0) return describeIds(ids);
  return all ? { all } : { filter };
}

/** The number of chosen items. */
export async function countChosen(db: Db, { ids, filter }: Chosen): Promise<number> {
  return ids.length > 0 ? ids.length : countQuarantine(db, ALL_SOURCES, filter, 'open');
}

/** The ids of the chosen items, a page at a time. */
export async function* pagesOf(db: Db, { ids, filter }: Chosen): AsyncGenerator<string[]> {
  if (ids.length > 0) yield [...ids];
  else
    for await (const page of openQuarantine(db, ALL_SOURCES, filter, PAGE))
      yield page.map((item) => item.quarantine_id);
}

/** Throws a UsageError when one of these is not an id. */
export function checkIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(
      `"${wrong}" is not the id of a quarantined item. ${commandName()} quarantine list shows the ids.`,
    );
  }
}
