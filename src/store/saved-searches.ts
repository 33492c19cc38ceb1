import { sql } from 'kysely';
import type { Db } from './database.ts';
import { ALL_SOURCES, type Scope } from './scope.ts';
import { allRows, firstRow, onlyRow } from './statement.ts';

/** A search with a name. */
interface SavedSearch {
  readonly name: string;
  /** Terms of docs/searching.md. */
  readonly line: string;
  /** ISO 8601 or relative, as it was written; null: no start. */
  readonly since: string | null;
  /** The same for the end; null: now. */
  readonly until: string | null;
}

/** A search to save. */
export interface NewSearch extends SavedSearch {
  /** Whether events that match from now on raise alerts. */
  readonly raisesAlerts: boolean;
}

/** A saved search with who saved it. */
export interface StoredSearch extends NewSearch {
  readonly id: string;
  readonly savedBy: string;
  readonly savedAt: Date;
}

/** A saved search that raises alerts, for events of these sources; null: all. */
export interface RaisingSearch extends Pick<StoredSearch, 'id' | 'name' | 'line'> {
  readonly sources: readonly string[] | null;
}

/** The most searches that are kept: nobody finds one among more. */
const MOST = 500;

/** The sources of a scope as the table holds them. */
const sourcesOf = (scope: Scope) => (scope === ALL_SOURCES ? null : [...scope].toSorted());

/** Those whose saver could see no more than the reader can. */
const isVisible = (scope: Scope) =>
  scope === ALL_SOURCES ? sql<boolean>`true` : sql<boolean>`sources <@ ${[...scope]}::text[]`;

const COLUMNS = sql`id::text, name, line, since, until, saved_by as "savedBy", saved_at as "savedAt",
  raises_alerts as "raisesAlerts"`;

/** The saved searches that a reader may see, by name. */
export async function listSavedSearches(db: Db, scope: Scope): Promise<readonly StoredSearch[]> {
  return allRows<StoredSearch>(db)`
    select ${COLUMNS} from saved_searches where ${isVisible(scope)} order by lower(name), id`;
}

/** Saves a search; one of the same name, sources and person is replaced, and its alerts stay on. If it is not saved, says what is in the way. */
export async function saveSearch(
  db: Db,
  scope: Scope,
  { name, line, since, until, raisesAlerts }: NewSearch,
  savedBy: string,
): Promise<'saved' | 'name is taken' | 'too many'> {
  const rows = await allRows(db)`
    insert into saved_searches (name, line, since, until, saved_by, sources, raises_alerts)
    select ${name}, ${line}, ${since}, ${until}, ${savedBy}, ${sourcesOf(scope)}::text[], ${raisesAlerts}::boolean
    where (select count(*) from saved_searches) < ${MOST}
    on conflict (lower(name), coalesce(sources, '{}')) do update
      set name = excluded.name, line = excluded.line, since = excluded.since, until = excluded.until,
        saved_at = now(), raises_alerts = saved_searches.raises_alerts or excluded.raises_alerts
      where saved_searches.saved_by = excluded.saved_by
    returning id`;
  if (rows.length > 0) return 'saved';
  const { count } = await onlyRow<{ count: number }>(db)`select count(*)::int as count from saved_searches`;
  return count === MOST ? 'too many' : 'name is taken';
}

/** Deletes a search that a reader may see, by its id; with `savedBy`, only one that this person saved. */
export async function deleteSavedSearch(
  db: Db,
  scope: Scope,
  id: string,
  savedBy?: string,
): Promise<StoredSearch | undefined> {
  return firstRow<StoredSearch>(db)`
    delete from saved_searches
    where id = ${id}::bigint and ${isVisible(scope)} and saved_by = coalesce(${savedBy ?? null}, saved_by)
    returning ${COLUMNS}`;
}

/** Switches the alerts of a search that a reader may see on or off. */
export async function setSearchAlerts(
  db: Db,
  scope: Scope,
  id: string,
  raisesAlerts: boolean,
): Promise<StoredSearch | undefined> {
  return firstRow<StoredSearch>(db)`
    update saved_searches set raises_alerts = ${raisesAlerts}
    where id = ${id}::bigint and ${isVisible(scope)} returning ${COLUMNS}`;
}

/** The saved searches that raise alerts, in the order in which they were saved first. */
export async function listRaisingSearches(db: Db): Promise<readonly RaisingSearch[]> {
  return allRows<RaisingSearch>(db)`
    select id::text, name, line, sources from saved_searches where raises_alerts order by saved_searches.id`;
}
