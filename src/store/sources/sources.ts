import { sql, type RawBuilder, type Selectable } from 'kysely';
import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { Db, Trx } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import type { Tables } from '../server/schema/tables.ts';
import { isMissingTable } from '../server/statement.ts';
import { commandName } from '../../lib/text/command-name.ts';

export type SourceRow = Selectable<Tables['sources']>;

/** The sources that were added to the database, disabled ones included, by name. */
export async function listSources(db: Db, scope: Scope): Promise<SourceRow[]> {
  return db.selectFrom('sources').selectAll().where(inScope(scope, 'name')).orderBy('name').execute();
}

/** A number that grows with every change of a source. Zero while there is none, and before the table exists. */
export async function readSourcesRevision(db: Db): Promise<number> {
  try {
    const sum = db.fn.sum<string | null>('revision').as('sum');
    const row = await db.selectFrom('sources').select(sum).executeTakeFirst();
    return Number(row?.sum ?? 0);
  } catch (error) {
    if (isMissingTable(error)) return 0;
    throw error;
  }
}

/** Adds a source, or a disabled one again. Throws a ConflictError if there is one of this name. */
export async function insertSource(db: Db, name: string, definition: object): Promise<void> {
  const written = { definition: JSON.stringify(definition) };
  const { numInsertedOrUpdatedRows: added } = await db
    .insertInto('sources')
    .values({ name, ...written })
    .onConflict((exists) =>
      exists
        .column('name')
        .doUpdateSet({ ...written, old_secrets_until: null, disabled_at: null, ...CHANGED })
        .where('sources.disabled_at', 'is not', null),
    )
    .executeTakeFirst();
  if (added === 0n) throw new ConflictError('SOURCE_EXISTS', `there is already a source "${name}"`);
}

export interface SourceUpdate {
  readonly definition: object;
  readonly oldSecretsUntil: Date | null;
}

/** Changes a source from what it is now, one change at a time. Throws a NotFoundError if there is none, or it is disabled. */
export async function changeSource(db: Db, name: string, change: (source: SourceRow) => SourceUpdate) {
  await db.transaction().execute(async (trx) => {
    const source = await trx
      .selectFrom('sources')
      .selectAll()
      .where('name', '=', name)
      .where('disabled_at', 'is', null)
      .forUpdate()
      .executeTakeFirst();
    if (source === undefined) throw unknownSource(name);
    await update(trx, name, change(source));
  });
}

/** Changes all sources, disabled ones included. Resolves with their number. */
export async function changeAllSources(db: Db, change: (source: SourceRow) => SourceUpdate): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const sources = await trx.selectFrom('sources').selectAll().orderBy('name').forUpdate().execute();
    for (const source of sources) await update(trx, source.name, change(source));
    return sources.length;
  });
}

/** Disables a source. Throws a NotFoundError if there is none, or it is disabled. */
export async function disableSource(db: Db, name: string): Promise<void> {
  const { numUpdatedRows: disabled } = await db
    .updateTable('sources')
    .set({ disabled_at: CHANGED.changed_at, ...CHANGED })
    .where('name', '=', name)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (disabled === 0n) throw unknownSource(name);
}

async function update(trx: Trx, name: string, { definition, oldSecretsUntil }: SourceUpdate): Promise<void> {
  await trx
    .updateTable('sources')
    .set({ definition: JSON.stringify(definition), old_secrets_until: oldSecretsUntil, ...CHANGED })
    .where('name', '=', name)
    .execute();
}

const CHANGED: Readonly<{ revision: RawBuilder<string>; changed_at: RawBuilder<Date> }> = {
  revision: sql`sources.revision + 1`,
  changed_at: sql`now()`,
};

const unknownSource = (name: string) =>
  new NotFoundError(
    'UNKNOWN_SOURCE',
    `the database has no active source "${name}": "${commandName()} sources list" shows all sources`,
  );
