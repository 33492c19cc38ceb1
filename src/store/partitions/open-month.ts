import { sql } from 'kysely';
import type { Db } from '../server/database.ts';
import { whileAlone } from '../server/locks.ts';
import { lockAtOnce, makeChange, type BlockedChange, type Change } from './partition-changes.ts';
import {
  defaultOf,
  firstDay,
  isPartition,
  partitionName,
  WAITING_CONSTRAINT,
  type PartitionedTable,
} from './partitioned-tables.ts';
import { allRows, run } from '../server/statement.ts';

export interface CreatedMonths {
  readonly created: string[];
  /** Changes that did not get their locks, because others use the table. */
  readonly blocked: BlockedChange[];
}

/**
 * Creates the partitions of months, unless they are there. Their rows in the default partition move there. Ends with the first
 * change that does not get its locks: the others need the same.
 */
export async function createMonths(
  db: Db,
  table: PartitionedTable,
  months: readonly Date[],
  { created, blocked }: CreatedMonths,
): Promise<void> {
  for (const month of months) {
    const change: Change = { action: 'create', table: table.name, partition: partitionName(table, month) };
    let isThere = false;
    let isOccupied = false;
    let found = await makeChange(db, change, async (trx) => {
      isThere = await isPartition(trx, change.partition);
      if (isThere) return;
      await lockAtOnce(trx, [defaultOf(table)]);
      isOccupied = (await allRows(trx)`select from ${sql.id(defaultOf(table))} limit 1`).length > 0;
      if (!isOccupied) await run(trx)`select create_month(${table.name}, ${firstDay(month)}::date)`;
    });
    if (isOccupied) found = await moveMonth(db, table, month, change);
    blocked.push(...found);
    if (found.length > 0) return;
    if (!isThere) created.push(change.partition);
  }
}

/**
 * Creates the partition of a month while the default partition has rows. Postgres reads all of these under a lock that
 * everybody waits for, unless a constraint says that none belongs to the month. It is checked, and rows move, beside readers
 * and writers; new rows of this month wait for it. Nothing else waits for longer than a change of the catalogue takes.
 */
async function moveMonth(db: Db, table: PartitionedTable, month: Date, change: Change) {
  const work = async () => {
    const blocked = await makeChange(db, change, async (trx) => {
      await lockAtOnce(trx, [defaultOf(table)]);
      await run(trx)`select let_rows_wait(${table.name}, ${firstDay(month)}::date)`;
    });
    if (blocked.length > 0) return blocked;
    try {
      return await makeChange(db, change, async (trx) => {
        if (await isPartition(trx, change.partition)) return;
        await run(trx)`select move_month(${table.name}, ${firstDay(month)}::date)`;
      });
    } finally {
      await release(db, table);
    }
  };
  return (await alone(db, work)) ?? [{ ...change, by: [] }];
}

/** Lets rows into the default partition again after a process that ended before it did. */
export async function releaseRows(db: Db, table: PartitionedTable): Promise<readonly BlockedChange[]> {
  return (await doRowsWait(db, table)) ? ((await alone(db, () => release(db, table))) ?? []) : [];
}

/** Works on a default partition. Undefined, with nothing done, while another process does. */
const alone = <T>(db: Db, work: () => Promise<T>) =>
  whileAlone(db, sql`locks where name = 'default partitions'`, work);

async function doRowsWait(db: Db, table: PartitionedTable): Promise<boolean> {
  const rows = await allRows(db)`
    select from pg_constraint
    where conrelid = ${defaultOf(table)}::regclass and conname = ${WAITING_CONSTRAINT}`;
  return rows.length > 0;
}

async function release(db: Db, table: PartitionedTable): Promise<readonly BlockedChange[]> {
  if (!(await doRowsWait(db, table))) return [];
  const partition = defaultOf(table);
  return makeChange(db, { action: 'create', table: table.name, partition }, async (trx) => {
    await lockAtOnce(trx, [partition]);
    await run(trx)`select let_rows_in(${table.name})`;
  });
}
