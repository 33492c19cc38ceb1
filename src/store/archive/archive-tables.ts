import type { Db } from '../server/database.ts';
import { allRows } from '../server/statement.ts';

/** A column of a table, with its type as Postgres names it. */
export interface ArchivedColumn {
  readonly name: string;
  readonly type: string;
}

/** The columns of a table in their order. */
export const readColumns = (db: Db, table: string): Promise<ArchivedColumn[]> =>
  allRows<ArchivedColumn>(db)`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`;
