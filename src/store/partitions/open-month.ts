import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { whileAlone } from '../server/locks.ts';
import { lockAtOnce, makeChange, type BlockedChange, type Change } from './partition-changes.ts';
import { addMonths, defaultOf, firstDay, partitionName, WAITING_CONSTRAINT } from './partitioned-tables.ts';
import type { PartitionedTable } from './partitioned-tables.ts';
import { allRows, run } from '../server/statement.ts';

/**
 * Creates the partition of a month while the default partition has rows. Postgres reads all of these under a lock that
 * everybody waits for, unless a constraint says that none belongs to the month. The constraint is checked beside
 * readers and writers; new rows of the month wait for it. If there are rows of the month, the default partition is
 * replaced by a copy without them, because no row may be deleted; all rows outside the partitions wait for the copy.
 * Nothing else waits for longer than a change of the catalogue takes.
 */
export async function openMonth(
  db: Db,
  table: PartitionedTable,
  month: Date,
): Promise<readonly BlockedChange[]> {
  const change: Change = { action: 'create', table: table.name, partition: partitionName(table, month) };
  const work = async () => {
    const blocked = await holdRows(db, table, change, month);
    if (blocked.length > 0) return blocked;
    try {
      if (await hasRowsOf(db, table, month)) return await splitDefault(db, table, change, month);
      await run(db)`select check_waiting(${table.name})`;
      return await makeChange(db, change, async (trx) => {
        await lockAtOnce(trx, [defaultOf(table)]);
        await run(trx)`select create_month(${table.name}, ${firstDay(month)}::date)`;
      });
    } finally {
      await release(db, table);
    }
  };
  return (await alone(db, work)) ?? [{ ...change, by: [] }];
}

/** Lets rows into the default partition again after a process that ended before it did. */
export async function releaseRows(db: Db, table: PartitionedTable): Promise<readonly BlockedChange[]> {
  const rows = await allRows(db)`
    select from pg_constraint
    where conrelid = ${defaultOf(table)}::regclass and conname = ${WAITING_CONSTRAINT}`;
  return rows.length === 0 ? [] : ((await alone(db, () => release(db, table))) ?? []);
}

/** Works on a default partition. Undefined, with nothing done, while another process does. */
const alone = <T>(db: Db, work: () => Promise<T>) =>
  whileAlone(db, sql`locks where name = 'default partitions'`, work);

async function hasRowsOf(db: Db, table: PartitionedTable, month: Date): Promise<boolean> {
  const time = sql.id(table.time);
  const rows = await allRows(db)`
    select from ${sql.id(defaultOf(table))} where ${time} >= ${month} and ${time} < ${addMonths(month, 1)} limit 1`;
  return rows.length > 0;
}

/** Lets rows of a month wait, or all rows of the default partition, without a check of those that it has. */
const holdRows = (db: Db, table: PartitionedTable, change: Change, month?: Date) =>
  makeChange(db, change, async (trx) => {
    await lockAtOnce(trx, [defaultOf(table)]);
    await run(
      trx,
    )`select let_rows_wait(${table.name}, ${month === undefined ? null : firstDay(month)}::date)`;
  });

function release(db: Db, table: PartitionedTable) {
  const partition = defaultOf(table);
  return makeChange(db, { action: 'create', table: table.name, partition }, async (trx) => {
    await lockAtOnce(trx, [partition]);
    await run(trx)`select let_rows_in(${table.name})`;
  });
}

async function splitDefault(
  db: Db,
  table: PartitionedTable,
  change: Change,
  month: Date,
): Promise<readonly BlockedChange[]> {
  const blocked = await holdRows(db, table, change);
  if (blocked.length > 0) return blocked;
  await run(db)`select copy_default(${table.name}, ${firstDay(month)}::date)`;
  return makeChange(db, change, async (trx) => {
    await lockAtOnce(trx, [table.name, defaultOf(table)]);
    await run(trx)`select use_copy(${table.name}, ${firstDay(month)}::date)`;
  });
}
