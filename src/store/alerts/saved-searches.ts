import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { ALL_SOURCES, type Scope } from '../server/scope.ts';

interface SavedSearch {
  readonly name: string;
  /** Terms of docs/searching.md. */
  readonly line: string;
  /** ISO 8601 or relative, as it was written; null: no start. */
  readonly since: string | null;
  /** The same for the end; null: now. */
  readonly until: string | null;
}

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

/** The most searches that are kept: a longer list is hard to search. */
const MOST = 500;

/** The sources of a scope as the table holds them. */
const sourcesOf = (scope: Scope) => (scope === ALL_SOURCES ? null : [...scope].toSorted());

/** Those whose saver could see no more than the reader can. */
const isVisible = (scope: Scope) =>
  scope === ALL_SOURCES ? sql<boolean>`true` : sql<boolean>`sources <@ ${[...scope]}::text[]`;

const COLUMNS = [
  'id',
  'name',
  'line',
  'since',
  'until',
  'saved_by as savedBy',
  'saved_at as savedAt',
  'raises_alerts as raisesAlerts',
] as const;

/** The saved searches that a reader may see, by name. */
export async function listSavedSearches(db: Db, scope: Scope): Promise<readonly StoredSearch[]> {
  return db
    .selectFrom('saved_searches')
    .select(COLUMNS)
    .where(isVisible(scope))
    .orderBy(sql`lower(name)`)
    .orderBy('id')
    .execute();
}

/** Saves a search; one of the same name, sources and person is replaced, and its alerts stay on. If it is not saved, says what is in the way. */
export async function saveSearch(
  db: Db,
  scope: Scope,
  { name, line, since, until, raisesAlerts }: NewSearch,
  savedBy: string,
): Promise<'saved' | 'name is taken' | 'too many'> {
  const count = db.selectFrom('saved_searches').select(db.fn.countAll().as('count'));
  const written = { name, line, since, until };
  const saved = await db
    .insertInto('saved_searches')
    .columns(['name', 'line', 'since', 'until', 'saved_by', 'sources', 'raises_alerts'])
    .expression(
      sql`select ${name}, ${line}, ${since}, ${until}, ${savedBy}, ${sourcesOf(scope)}::text[], ${raisesAlerts}::boolean
        where (${count}) < ${MOST}`,
    )
    .onConflict((exists) =>
      exists
        .expression(sql`lower(name), coalesce(sources, '{}')`)
        .doUpdateSet({
          ...written,
          saved_at: sql`now()`,
          raises_alerts: sql`saved_searches.raises_alerts or excluded.raises_alerts`,
        })
        .where('saved_searches.saved_by', '=', savedBy),
    )
    .returning('id')
    .executeTakeFirst();
  if (saved !== undefined) return 'saved';
  return Number((await count.executeTakeFirstOrThrow()).count) === MOST ? 'too many' : 'name is taken';
}

/** Deletes a search that a reader may see, by its id; with `savedBy`, only one that this person saved. */
export async function deleteSavedSearch(
  db: Db,
  scope: Scope,
  id: string,
  savedBy?: string,
): Promise<StoredSearch | undefined> {
  const deletion = db
    .deleteFrom('saved_searches')
    .where('id', '=', id)
    .where(isVisible(scope))
    .returning(COLUMNS);
  return (savedBy === undefined ? deletion : deletion.where('saved_by', '=', savedBy)).executeTakeFirst();
}

/** Switches the alerts of a search that a reader may see on or off. */
export async function setSearchAlerts(
  db: Db,
  scope: Scope,
  id: string,
  raisesAlerts: boolean,
): Promise<StoredSearch | undefined> {
  return db
    .updateTable('saved_searches')
    .set({ raises_alerts: raisesAlerts })
    .where('id', '=', id)
    .where(isVisible(scope))
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** The saved searches that raise alerts, in the order in which they were saved first. */
export async function listRaisingSearches(db: Db): Promise<readonly RaisingSearch[]> {
  return db
    .selectFrom('saved_searches')
    .select(['id', 'name', 'line', 'sources'])
    .where('raises_alerts', '=', true)
    .orderBy('id')
    .execute();
}
