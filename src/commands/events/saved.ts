import { UsageError } from '../../lib/errors.ts';
import { parseSearch, type SearchTerm } from '../../events/search-query.ts';
import type { Db } from '../../store/server/database.ts';
import {
  deleteSavedSearch,
  listSavedSearches,
  type StoredSearch,
} from '../../store/alerts/saved-searches.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { print, printRows, type Columns } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';

/** `events saved`: prints the saved searches as a table or as JSON lines. */
export async function printSaved(db: Db, asJson: boolean): Promise<void> {
  const searches = await listSavedSearches(db, ALL_SOURCES);
  await printRows(searches.map(rowOf), COLUMNS, asJson);
  if (searches.length === 0 && !asJson) print('no searches are saved');
}

const rowOf = ({ name, line, since, until, raisesAlerts, savedBy, savedAt }: StoredSearch) => ({
  name,
  line,
  since,
  until,
  raises_alerts: raisesAlerts,
  saved_by: savedBy,
  saved_at: savedAt,
});

const COLUMNS: Columns<ReturnType<typeof rowOf>> = {
  name: ({ name }) => name,
  search: ({ line }) => line,
  range: ({ since, until }) => [since ?? 'start', until ?? 'now'].join(' – '),
  alerts: ({ raises_alerts: raisesAlerts }) => (raisesAlerts ? 'on' : 'off'),
  'saved by': ({ saved_by: savedBy }) => savedBy,
};

/** A person at the command line is subject to no role. */
const EVERYTHING = { name: '', mayAlert: true, managesAll: true };

/** `events saved --delete`: deletes the searches of a name. Throws a UsageError if there is none. */
export async function deleteSaved(db: Db, name: string): Promise<void> {
  for (const { id } of await searchesNamed(db, name)) {
    const action = { action: 'search.delete', subject: id } as const;
    const deleted = await recordCommand(db, action, () => deleteSavedSearch(db, ALL_SOURCES, id, EVERYTHING));
    print(`deleted: ${deleted.name}`);
  }
}

interface Asked {
  readonly saved?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/**
 * Options with the saved search that they name: its terms, and its range where the options have none. Throws a UsageError if
 * no search or several have the name.
 */
export async function withSaved<T extends Asked>(db: Db, { saved: name, ...options }: T) {
  if (name === undefined) return { ...options, saved: [] };
  const [search, other] = await searchesNamed(db, name);
  if (search === undefined || other !== undefined) {
    throw new UsageError(
      `Several people with different sources saved a search named "${name}". Use its search line instead.`,
    );
  }
  const { since = search.since ?? undefined, until = search.until ?? undefined } = options;
  return { ...options, since, until, saved: termsOf(search) };
}

function termsOf({ name, line }: StoredSearch): readonly SearchTerm[] {
  const { terms, problem } = parseSearch(line);
  if (terms === undefined) throw new UsageError(`The saved search "${name}" is no longer valid: ${problem}.`);
  return terms;
}

async function searchesNamed(db: Db, name: string): Promise<readonly StoredSearch[]> {
  const all = await listSavedSearches(db, ALL_SOURCES);
  const found = all.filter((search) => search.name.toLowerCase() === name.toLowerCase());
  if (found.length > 0) return found;
  const names = [...new Set(all.map((search) => search.name))].join(', ');
  throw new UsageError(
    `There is no saved search "${name}". ${names === '' ? 'None are saved.' : `Saved searches: ${names}.`}`,
  );
}
