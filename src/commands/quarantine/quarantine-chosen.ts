import { validate as isUuid } from 'uuid';
import { UsageError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeIds } from '../../store/operator-log.ts';
import { countQuarantine, openQuarantine } from '../../store/search-quarantine.ts';
import type { QuarantineFilter } from '../../store/search-quarantine.ts';

/** What of quarantine a command works on: these, or what is open and matches; all that is open only when asked. */
export interface Chosen {
  readonly ids: readonly string[];
  readonly filter: QuarantineFilter;
  readonly all: boolean;
}

/** Read at once, without bytes. */
export const PAGE = 500;

/** Throws a UsageError unless it says which, in one way. */
export function checkChosen({ ids, filter, all }: Chosen): void {
  checkIds(ids);
  const isFiltered = Object.values(filter).some((condition) => condition !== undefined);
  if (ids.length > 0 && (isFiltered || all)) {
    throw new UsageError('give either ids, or a filter or --all');
  }
  if (ids.length === 0 && !isFiltered && !all) {
    throw new UsageError('say which: ids, a filter such as --type or --reason, or --all');
  }
}

/** What was chosen, as the operator log keeps it. */
export function describeChosen({ ids, filter, all }: Chosen): Readonly<Record<string, unknown>> {
  if (ids.length > 0) return describeIds(ids);
  return all ? { all } : { filter };
}

/** How much there is to do. */
export async function countChosen(db: Db, { ids, filter }: Chosen): Promise<number> {
  return ids.length > 0 ? ids.length : countQuarantine(db, filter, 'open');
}

/** What is chosen, a page at a time. */
export async function* pagesOf(db: Db, { ids, filter }: Chosen): AsyncGenerator<string[]> {
  if (ids.length > 0) yield [...ids];
  else
    for await (const page of openQuarantine(db, filter, PAGE)) yield page.map((item) => item.quarantine_id);
}

/** Throws a UsageError when one of them cannot be an id. */
export function checkIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(
      `"${wrong}" is no id of something in quarantine: xiq-sink quarantine list shows them`,
    );
  }
}
