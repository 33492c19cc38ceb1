import { sql } from 'kysely';
import type { Db } from './database.ts';
import { ALL_SOURCES, type Scope } from './scope.ts';

/** A search that a person saved. */
export interface SavedSearch {
  readonly name: string;
  /** Terms of docs/searching.md. */
  readonly line: string;
  /** ISO 8601 or relative, as it was written; null: no start. */
  readonly since: string | null;
  /** The same for the end; null: now. */
  readonly until: string | null;
}

/** A saved search with who saved it. */
export interface StoredSearch extends SavedSearch {
  readonly id: string;
  readonly savedBy: string;
  readonly savedAt: Date;
}

/** The most searches that are kept: nobody finds one among more. */
const MOST = 500;

/** The sources of a scope as the table holds them. */
const sourcesOf = (scope: Scope) => (scope === ALL_SOURCES ? null : [...scope].toSorted());

/** Those whose saver could see no more than the reader can. */
const isVisible = (scope: Scope) =>
  scope === ALL_SOURCES ? sql<boolean>`true` : sql<boolean>`sources <@ ${[...scope]}::text[]`;

/** The saved searches that a reader may see, by name. */
export async function listSavedSearches(db: Db, scope: Scope): Promise<readonly StoredSearch[]> {
  const { rows } = await sql<StoredSearch>`
    select id::text, name, line, since, until, saved_by as "savedBy", saved_at as "savedAt"
    from saved_searches where ${isVisible(scope)} order by lower(name), id`.execute(db);
  return rows;
}

/** Saves a search; one of the same name, sources and person is replaced. If it is not saved, says what is in the way. */
export async function saveSearch(
  db: Db,
  scope: Scope,
  { name, line, since, until }: SavedSearch,
  savedBy: string,
): Promise<'saved' | 'name is taken' | 'too many'> {
  const { rows } = await sql`
    insert into saved_searches (name, line, since, until, saved_by, sources)
    select ${name}, ${line}, ${since}, ${until}, ${savedBy}, ${sourcesOf(scope)}::text[]
    where (select count(*) from saved_searches) < ${MOST}
    on conflict (lower(name), coalesce(sources, '{}')) do update
      set name = excluded.name, line = excluded.line, since = excluded.since, until = excluded.until,
        saved_at = now()
      where saved_searches.saved_by = excluded.saved_by
    returning id`.execute(db);
  if (rows.length > 0) return 'saved';
  const all = await sql<{ count: number }>`select count(*)::int as count from saved_searches`.execute(db);
  return all.rows[0]?.count === MOST ? 'too many' : 'name is taken';
}

/** Deletes a search that a reader may see, by its id; with `savedBy`, only one that this person saved. */
export async function deleteSavedSearch(
  db: Db,
  scope: Scope,
  id: string,
  savedBy?: string,
): Promise<StoredSearch | undefined> {
  const { rows } = await sql<StoredSearch>`
    delete from saved_searches
    where id = ${id}::bigint and ${isVisible(scope)} and saved_by = coalesce(${savedBy ?? null}, saved_by)
    returning id::text, name, line, since, until, saved_by as "savedBy", saved_at as "savedAt"`.execute(db);
  return rows[0];
}
