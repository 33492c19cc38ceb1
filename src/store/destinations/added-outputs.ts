import { sql, type Selectable } from 'kysely';
import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { Db, Trx } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';

type Row = Selectable<Tables['added_outputs']>;

export type OutputKind = Row['kind'];

/** A destination or an alert rule that was added to the database, with its members as in the settings file. */
export type AddedOutput = Pick<Row, 'kind' | 'name' | 'definition'>;

/** Everything that was added, by kind and name. */
export const listAddedOutputs = (db: Db): Promise<AddedOutput[]> =>
  db
    .selectFrom('added_outputs')
    .select(['kind', 'name', 'definition'])
    .orderBy('kind')
    .orderBy('name')
    .execute();

/** Adds an output. Throws a ConflictError if one of its kind has this name. */
export async function insertOutput(db: Db, { kind, name, definition }: AddedOutput): Promise<void> {
  const { numInsertedOrUpdatedRows: added } = await db
    .insertInto('added_outputs')
    .values({ kind, name, definition: JSON.stringify(definition) })
    .onConflict((exists) => exists.doNothing())
    .executeTakeFirst();
  if (added === 0n) throw new ConflictError('NAME_TAKEN', `there is already a ${kind} "${name}"`);
}

/** Adds an output, or replaces the definition of the one of its kind and name. */
export async function putOutput(db: Db, { kind, name, definition }: AddedOutput): Promise<void> {
  const written = { definition: JSON.stringify(definition) };
  await db
    .insertInto('added_outputs')
    .values({ kind, name, ...written })
    .onConflict((exists) =>
      exists.columns(['kind', 'name']).doUpdateSet({ ...written, changed_at: sql`now()` }),
    )
    .execute();
}

/** Replaces the definition of an output by what `change` makes of it, one change at a time. Throws a NotFoundError if there is none. */
export async function changeOutput(
  db: Db,
  kind: OutputKind,
  name: string,
  change: (definition: AddedOutput['definition']) => object,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const output = await trx
      .selectFrom('added_outputs')
      .select('definition')
      .where('kind', '=', kind)
      .where('name', '=', name)
      .forUpdate()
      .executeTakeFirst();
    if (output === undefined) throw unknownOutput(kind, name);
    await trx
      .updateTable('added_outputs')
      .set({ definition: JSON.stringify(change(output.definition)), changed_at: sql`now()` })
      .where('kind', '=', kind)
      .where('name', '=', name)
      .execute();
  });
}

/** Those of these destinations that were added. None of them is deleted until the transaction ends. */
export const holdDestinations = (trx: Trx, names: readonly string[]) =>
  trx
    .selectFrom('added_outputs')
    .select('name')
    .where('kind', '=', 'destination')
    .where('name', '=', (eb) => eb.fn.any(eb.val(names)))
    .forShare()
    .execute();

/** Deletes an output. Throws a NotFoundError if there is none. */
export async function deleteOutput(db: Db, kind: OutputKind, name: string): Promise<void> {
  const { numDeletedRows: deleted } = await db
    .deleteFrom('added_outputs')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst();
  if (deleted === 0n) throw unknownOutput(kind, name);
}

const unknownOutput = (kind: OutputKind, name: string) =>
  new NotFoundError('UNKNOWN_OUTPUT', `no ${kind} "${name}" was added in the console or through the API`);
