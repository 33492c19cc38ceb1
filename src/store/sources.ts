import { sql, type Selectable } from 'kysely';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { Db, Trx } from './database.ts';
import { inScope, type Scope } from './scope.ts';
import type { Tables } from './tables.ts';
import { allRows, firstRow, isMissingTable, onlyRow, run } from './statement.ts';

/** A source as the database keeps it. */
export type SourceRow = Selectable<Tables['sources']>;

/** The sources that were added to the database, disabled ones included, by name. */
export async function listSources(db: Db, scope: Scope): Promise<SourceRow[]> {
  return allRows<SourceRow>(db)`select * from sources where ${inScope(scope, 'name')} order by name`;
}

/** A number that grows with every change of a source. Zero while there is none, and before the table exists. */
export async function readSourcesRevision(db: Db): Promise<number> {
  try {
    return Number(
      (
        await onlyRow<{ sum: string }>(db)`
      select coalesce(sum(revision), 0)::text as sum from sources`
      ).sum,
    );
  } catch (error) {
    if (isMissingTable(error)) return 0;
    throw error;
  }
}

/** Adds a source, or a disabled one again. Throws a ConflictError if there is one of this name. */
export async function insertSource(db: Db, name: string, definition: object): Promise<void> {
  const added = await run(db)`
    insert into sources (name, definition) values (${name}, ${JSON.stringify(definition)})
    on conflict (name) do update set definition = excluded.definition, old_secrets_until = null, disabled_at = null,
      ${CHANGED}
    where sources.disabled_at is not null`;
  if (added === 0) throw new ConflictError('SOURCE_EXISTS', `there is a source "${name}" already`);
}

/** What a change of a source replaces. */
export interface SourceUpdate {
  readonly definition: object;
  readonly oldSecretsUntil: Date | null;
}

/** Changes a source from what it is now, one change at a time. Throws a NotFoundError if there is none, or it is disabled. */
export async function changeSource(
  db: Db,
  name: string,
  change: (source: SourceRow) => SourceUpdate,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const source = await firstRow<SourceRow>(trx)`
      select * from sources where name = ${name} and disabled_at is null for update`;
    if (source === undefined) throw unknownSource(name);
    await update(trx, name, change(source));
  });
}

/** Changes all sources, disabled ones included. Resolves with their number. */
export async function changeAllSources(db: Db, change: (source: SourceRow) => SourceUpdate): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const sources = await allRows<SourceRow>(trx)`select * from sources order by name for update`;
    for (const source of sources) await update(trx, source.name, change(source));
    return sources.length;
  });
}

/** Disables a source. Throws a NotFoundError if there is none, or it is disabled. */
export async function disableSource(db: Db, name: string): Promise<void> {
  const disabled = await run(db)`
    update sources set disabled_at = now(), ${CHANGED} where name = ${name} and disabled_at is null`;
  if (disabled === 0) throw unknownSource(name);
}

async function update(trx: Trx, name: string, { definition, oldSecretsUntil }: SourceUpdate): Promise<void> {
  await run(trx)`
    update sources set definition = ${JSON.stringify(definition)}, old_secrets_until = ${oldSecretsUntil}, ${CHANGED}
    where name = ${name}`;
}

const CHANGED = sql`revision = sources.revision + 1, changed_at = now()`;

const unknownSource = (name: string) =>
  new NotFoundError(
    'UNKNOWN_SOURCE',
    `the database has no source "${name}" in use: "xiq-sink sources list" shows all sources`,
  );
