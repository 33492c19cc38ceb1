import { sql } from 'kysely';
import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { Db } from '../server/database.ts';
import { ALL_SOURCES, type Scope } from '../server/scope.ts';

/**
 * `line` has terms of docs/searching.md; `since` and `until` are ISO 8601 or relative, as they were written (null: no start,
 * and now).
 */
export type StoredSearch = Awaited<ReturnType<typeof listSavedSearches>>[number];

/** A saved search that raises alerts, for events of these sources; null: all. */
export type RaisingSearch = Awaited<ReturnType<typeof listRaisingSearches>>[number];

export interface SearchEditor {
  readonly name: string;
  /** May also change searches that raise alerts. */
  readonly mayAlert: boolean;
  /** May also delete the searches of others. */
  readonly managesAll: boolean;
}

/** The most searches of one person, so that nobody uses up the places of others. */
const MOST_OF_ONE = 100;

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
export async function listSavedSearches(db: Db, scope: Scope) {
  return db
    .selectFrom('saved_searches')
    .select(COLUMNS)
    .where(isVisible(scope))
    .orderBy(sql`lower(name)`)
    .orderBy('id')
    .execute();
}

/**
 * Saves a search; one of the same name, sources and person is replaced, and its alerts stay on. Throws a ConflictError
 * if another person has the name, the search may not be changed by `editor`, or the person has saved too many.
 */
export async function saveSearch(
  db: Db,
  scope: Scope,
  { raisesAlerts, ...written }: Omit<StoredSearch, 'id' | 'savedBy' | 'savedAt'>,
  { name: savedBy, mayAlert }: Omit<SearchEditor, 'managesAll'>,
): Promise<void> {
  const { name, line, since, until } = written;
  const sources = sql`${scope === ALL_SOURCES ? null : [...scope].toSorted()}::text[]`;
  const isThis = sql<boolean>`(lower(name) = lower(${name}) and coalesce(sources, '{}') = coalesce(${sources}, '{}'))`;
  const others = db
    .selectFrom('saved_searches')
    .select(db.fn.countAll().as('count'))
    .where('saved_by', '=', savedBy)
    .where(sql<boolean>`not ${isThis}`);
  const saved = await db
    .insertInto('saved_searches')
    .columns(['name', 'line', 'since', 'until', 'saved_by', 'sources', 'raises_alerts'])
    .expression(
      sql`select ${name}, ${line}, ${since}, ${until}, ${savedBy}, ${sources}, ${raisesAlerts}::boolean
        where (${others}) < ${MOST_OF_ONE}`,
    )
    .onConflict((exists) =>
      exists
        .expression(sql`lower(name), coalesce(sources, '{}')`)
        .doUpdateSet({
          ...written,
          saved_at: sql`now()`,
          raises_alerts: sql`saved_searches.raises_alerts or excluded.raises_alerts`,
        })
        .where('saved_searches.saved_by', '=', savedBy)
        .where(sql<boolean>`(not saved_searches.raises_alerts or ${mayAlert}::boolean)`),
    )
    .returning('id')
    .executeTakeFirst();
  if (saved !== undefined) return;
  const existing = await db.selectFrom('saved_searches').select('saved_by').where(isThis).executeTakeFirst();
  if (existing?.saved_by === savedBy) throw raisesAlertsNow();
  if (existing !== undefined) {
    throw new ConflictError('NAME_TAKEN', `Another user has saved a search “${name}”: choose another name.`);
  }
  const message = `You have saved ${MOST_OF_ONE} searches: delete one first.`;
  throw new ConflictError('TOO_MANY_SEARCHES', message);
}

const raisesAlertsNow = () =>
  new ConflictError('SEARCH_RAISES_ALERTS', 'This search raises alerts: ask an operator to change it.');

/** Whether a person may delete a search: their own or, as an administrator, any; and with alerts only if they may switch them. */
export const isDeletable = (
  { savedBy, raisesAlerts }: Pick<StoredSearch, 'savedBy' | 'raisesAlerts'>,
  { name, mayAlert, managesAll }: SearchEditor,
): boolean => (managesAll || savedBy === name) && (mayAlert || !raisesAlerts);

/**
 * Deletes a search that a reader may see, by its id. Throws a NotFoundError if it is none of the editor's, and a
 * ConflictError if they may not delete it while it raises alerts.
 */
export async function deleteSavedSearch(db: Db, scope: Scope, id: string, editor: SearchEditor) {
  return db.transaction().execute(async (trx) => {
    const search = await trx
      .selectFrom('saved_searches')
      .select(COLUMNS)
      .where('id', '=', id)
      .where(isVisible(scope))
      .forUpdate()
      .executeTakeFirst();
    if (search === undefined || !isDeletable(search, { ...editor, mayAlert: true })) {
      throw new NotFoundError('NOT_FOUND', `you have no saved search with the id ${id}`);
    }
    if (!isDeletable(search, editor)) throw raisesAlertsNow();
    await trx.deleteFrom('saved_searches').where('id', '=', id).execute();
    return search;
  });
}

/** Switches the alerts of a search that a reader may see on or off. */
export async function setSearchAlerts(db: Db, scope: Scope, id: string, raisesAlerts: boolean) {
  return db
    .updateTable('saved_searches')
    .set({ raises_alerts: raisesAlerts })
    .where('id', '=', id)
    .where(isVisible(scope))
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** The saved searches that raise alerts, in the order in which they were saved first. */
export async function listRaisingSearches(db: Db) {
  return db
    .selectFrom('saved_searches')
    .select(['id', 'name', 'line', 'sources'])
    .where('raises_alerts', '=', true)
    .orderBy('id')
    .execute();
}
