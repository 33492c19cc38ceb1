import { sql } from 'kysely';
import { DatabaseError } from 'pg';
import { withinTime, type Db } from './database.ts';

/*
 * Raw statements. Plain selects, inserts, updates and deletes use Kysely's builder instead, which knows every column; raw
 * text is for what the builder cannot say. Columns that a raw statement reads unchanged take their types from `Tables`.
 */

type Template = readonly [text: TemplateStringsArray, ...values: readonly unknown[]];

/** Runs a statement, as in `` allRows<Row>(db)`select ...` ``. Resolves with its rows. */
export const allRows =
  <Row>(db: Db) =>
  async (...statement: Template): Promise<Row[]> =>
    (await sql<Row>(...statement).execute(db)).rows;

/** Runs a statement for at most this many milliseconds. Resolves with its rows; undefined if it would take longer. */
export const allRowsWithin =
  <Row>(db: Db, milliseconds: number) =>
  async (...statement: Template): Promise<Row[] | undefined> =>
    withinTime(db, milliseconds, (trx) => allRows<Row>(trx)(...statement));

/** Runs a statement. Resolves with its first row; undefined if there is none. */
export const firstRow =
  <Row>(db: Db) =>
  async (...statement: Template): Promise<Row | undefined> =>
    (await allRows<Row>(db)(...statement))[0];

/** Runs a statement. Resolves with its only row. Throws a TypeError if there is none. */
export const onlyRow =
  <Row>(db: Db) =>
  async (...statement: Template): Promise<Row> => {
    const row = await firstRow<Row>(db)(...statement);
    if (row === undefined) throw new TypeError(`there is no row for: ${statement[0].join('?').trim()}`);
    return row;
  };

/** Whether a statement failed because a table is missing (SQLSTATE undefined_table): the database is not migrated yet. */
export const isMissingTable = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === '42P01';

/** Runs a statement. Resolves with the number of rows that it changed. */
export const run =
  (db: Db) =>
  async (...statement: Template): Promise<number> =>
    Number((await sql(...statement).execute(db)).numAffectedRows ?? 0);
