import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../server/database.ts';
import { whileAlone } from '../server/locks.ts';
import {
  attach,
  createTableLike,
  lockAtOnce,
  makeChange,
  timeLiteral,
  valuesOf,
} from './partition-changes.ts';
import type { BlockedChange, Change } from './partition-changes.ts';
import { addMonths, defaultOf, partitionName, WAITING_CONSTRAINT } from './partitioned-tables.ts';
import type { PartitionedTable } from './partitioned-tables.ts';
import { becomeOwner } from '../server/roles/roles.ts';
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
  const partition = partitionName(table, month);
  const change: Change = { action: 'create', table: table.name, partition };
  const from = timeLiteral(month);
  const to = timeLiteral(addMonths(month, 1));
  const time = sql.id(table.time);
  const inMonth = sql`${time} >= ${from} and ${time} < ${to}`;
  const values = valuesOf(month);
  return whileRowsWait(db, table, change, sql`${time} < ${from} or ${time} >= ${to}`, async () => {
    const rows = await allRows(db)`
      select from ${sql.id(defaultOf(table))} where ${inMonth} limit 1`;
    if (rows.length > 0) return splitDefault(db, table, change, inMonth, values);
    await validate(db, table);
    return makeChange(db, change, async (trx) => {
      await lockAtOnce(trx, [defaultOf(table)]);
      await createTableLike(trx, table, partition);
      await attach(trx, table, partition, values);
    });
  });
}

/**
 * Adds a constraint to the default partition, without a check of its rows, for the time of some work: rows that it refuses
 * wait meanwhile. One process at a time; another one is blocked.
 */
async function whileRowsWait(
  db: Db,
  table: PartitionedTable,
  change: Change,
  condition: RawBuilder<unknown>,
  beside: () => Promise<readonly BlockedChange[]>,
): Promise<readonly BlockedChange[]> {
  const work = async () => {
    const blocked = await constrain(db, table, change, condition);
    if (blocked.length > 0) return blocked;
    try {
      return await beside();
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

const constraint = sql.id(WAITING_CONSTRAINT);

function constrain(db: Db, table: PartitionedTable, change: Change, condition: RawBuilder<unknown>) {
  const current = sql.id(defaultOf(table));
  return makeChange(db, change, async (trx) => {
    await lockAtOnce(trx, [defaultOf(table)]);
    await run(trx)`alter table ${current} drop constraint if exists ${constraint},
      add constraint ${constraint} check (${condition}) not valid`;
  });
}

function release(db: Db, table: PartitionedTable) {
  const partition = defaultOf(table);
  return makeChange(db, { action: 'create', table: table.name, partition }, async (trx) => {
    await lockAtOnce(trx, [partition]);
    await run(trx)`alter table ${sql.id(partition)} drop constraint if exists ${constraint}`;
  });
}

/** Checks the constraint on the rows that were there before. Nobody waits for it. */
async function validate(db: Db, table: PartitionedTable): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await becomeOwner(trx);
    await run(trx)`alter table ${sql.id(defaultOf(table))} validate constraint ${constraint}`;
  });
}

async function splitDefault(
  db: Db,
  table: PartitionedTable,
  change: Change,
  inMonth: RawBuilder<unknown>,
  values: RawBuilder<unknown>,
): Promise<readonly BlockedChange[]> {
  const current = sql.id(defaultOf(table));
  const [newMonth, newDefault] = [`${table.name}_new_month`, `${table.name}_new_default`];
  const blocked = await constrain(db, table, change, sql`false`);
  if (blocked.length > 0) return blocked;
  await db.transaction().execute(async (trx) => {
    await becomeOwner(trx);
    await run(trx)`drop table if exists ${sql.id(newMonth)}, ${sql.id(newDefault)}`;
    for (const name of [newMonth, newDefault]) await createTableLike(trx, table, name);
    await run(trx)`alter table ${sql.id(newMonth)} add constraint in_month check (${inMonth})`;
    await run(trx)`insert into ${sql.id(newMonth)} select * from ${current} where ${inMonth}`;
    await run(trx)`insert into ${sql.id(newDefault)} select * from ${current} where not (${inMonth})`;
  });
  return makeChange(db, change, async (trx) => {
    await lockAtOnce(trx, [table.name, defaultOf(table)]);
    await run(trx)`alter table ${sql.id(table.name)} detach partition ${current}`;
    await run(trx)`drop table ${current}`;
    await run(trx)`alter table ${sql.id(newDefault)} rename to ${current}`;
    await run(trx)`alter table ${sql.id(newMonth)} rename to ${sql.id(change.partition)}`;
    await attach(trx, table, change.partition, values);
    await run(trx)`alter table ${sql.id(change.partition)} drop constraint in_month`;
    await attach(trx, table, defaultOf(table), sql`default`);
  });
}
