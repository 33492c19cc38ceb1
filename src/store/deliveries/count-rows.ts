import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { allRows, onlyRow } from '../server/statement.ts';

/** The rows of each table at one moment. */
export interface RowCounts {
  /** The transactions that had committed by then, in the form of `pg_snapshot`. */
  readonly snapshot: string;
  readonly tables: Readonly<Record<string, number>>;
}

/** A table whose rows in a copy of the database are not those that were counted. */
export interface CountDifference {
  readonly table: string;
  readonly counted: number;
  /** Undefined if the copy has no such table. */
  readonly found: number | undefined;
}

/** Counts the rows of every table, partitions separately, at one moment and while others store. */
export async function countRows(db: Db): Promise<RowCounts> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const { snapshot } = await onlyRow<{ snapshot: string }>(trx)`
        select pg_current_snapshot()::text as snapshot`;
      const tables: Record<string, number> = {};
      for (const { name } of await listTables(trx)) tables[name] = await count(trx, name, sql`true`);
      return { snapshot, tables };
    });
}

/**
 * Compares a physical copy of the database, taken after the count, with it. Rows that carry the transaction that stored
 * them are counted as of the same moment, so that the numbers must be equal. Of other tables whose rows are never deleted
 * there must be at least as many; the rest come and go. A partition that retention has dropped meanwhile is no difference.
 */
export async function compareRows(db: Db, counts: RowCounts): Promise<readonly CountDifference[]> {
  const different: CountDifference[] = [];
  const tables = new Map((await listTables(db)).map((table) => [table.name, table]));
  for (const [name, counted] of Object.entries(counts.tables)) {
    const table = tables.get(name);
    if (table === undefined) {
      if (!MONTH.test(name)) different.push({ table: name, counted, found: undefined });
    } else if (table.hasXid || table.keepsRows) {
      const wasThere = sql`xid is null or pg_visible_in_snapshot(xid, ${counts.snapshot}::pg_snapshot)`;
      const found = await count(db, name, table.hasXid ? wasThere : sql`true`);
      if (table.hasXid ? found !== counted : found < counted) different.push({ table: name, counted, found });
    }
  }
  return different;
}

/** The name of a month's partition. */
const MONTH = /_\d{4}_\d{2}$/;

interface CountedTable {
  readonly name: string;
  /** Its rows have the id of the transaction that stored them. */
  readonly hasXid: boolean;
  /** No row is ever deleted. */
  readonly keepsRows: boolean;
}

async function listTables(db: Db): Promise<readonly CountedTable[]> {
  return allRows<CountedTable>(db)`
    select relname as name,
        exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'xid' and not attisdropped)
          as "hasXid",
        exists (select from pg_trigger where tgrelid = pg_class.oid and tgname = 'refuse_change') as "keepsRows"
      from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`;
}

async function count(db: Db, table: string, condition: ReturnType<typeof sql>): Promise<number> {
  const found = await onlyRow<{ count: number }>(db)`
    select count(*)::float8 as count from ${sql.id(table)} where ${condition}`;
  return found.count;
}
