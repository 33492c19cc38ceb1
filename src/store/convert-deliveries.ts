import { sql } from 'kysely';
import type { Db } from './database.ts';
import { validate, whileRowsWait } from './open-month.ts';
import { attach, createTableLike, lockAtOnce, makeChange, type BlockedChange } from './partition-changes.ts';
import {
  addMonths,
  countDefault,
  defaultOf,
  listPartitions,
  PARTITIONED,
  untilName,
  WAITING_CONSTRAINT,
  type PartitionedTable,
} from './partitioned-tables.ts';
import { firstRow, run } from './statement.ts';

/**
 * Whether all rows of the table are in its default partition, and no month has one of its own: so migration 0013 left
 * the deliveries of before.
 */
export async function isUnconverted(db: Db, table: PartitionedTable): Promise<boolean> {
  if (table.name !== 'deliveries' || (await listPartitions(db, table)).length > 0) return false;
  return (await countDefault(db, table)) > 0;
}

/**
 * Turns the default partition of `deliveries`, if it contains the rows of before migration 0013, into a partition for all
 * months up to this one. Its rows are read, which can take minutes, beside readers and writers. The months after get
 * partitions of their own.
 */
export async function convertDeliveries(
  db: Db,
  now: Date,
  signal?: AbortSignal,
): Promise<readonly BlockedChange[]> {
  for (const table of PARTITIONED) {
    if (await isUnconverted(db, table)) return convert(db, table, now, signal);
  }
  return [];
}

async function convert(
  db: Db,
  table: PartitionedTable,
  now: Date,
  signal: AbortSignal | undefined,
): Promise<readonly BlockedChange[]> {
  const current = sql.id(defaultOf(table));
  const row = await firstRow<{ last: Date }>(db)`
    select greatest(max(received_at), ${now}::timestamptz) as last from ${current}`;
  const last = row?.last ?? now;
  const partition = untilName(table, last);
  const end = sql.lit(addMonths(last, 1).toISOString());
  const change = { action: 'convert', table: table.name, partition } as const;
  return whileRowsWait(db, table, change, sql`received_at < ${end}`, async () => {
    await validate(db, table, signal);
    return makeChange(db, change, async (trx) => {
      await lockAtOnce(trx, [table.name, defaultOf(table)]);
      const parent = sql.id(table.name);
      await run(trx)`alter table ${parent} detach partition ${current}`;
      await run(trx)`alter table ${current} rename to ${sql.id(partition)}`;
      // It is guarded already.
      await sql`alter table ${parent} attach partition ${sql.id(partition)}
        for values from (minvalue) to (${end})`.execute(trx);
      await run(trx)`alter table ${sql.id(partition)} drop constraint ${sql.id(WAITING_CONSTRAINT)}`;
      await createTableLike(trx, table, defaultOf(table));
      await attach(trx, table, defaultOf(table), sql`default`);
    });
  });
}
