import { sql } from 'kysely';
import { FAMILIES } from '../domain.ts';
import type { Family } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db, Trx } from './database.ts';

/** What one round of maintenance did and saw. */
export interface PartitionReport {
  readonly created: readonly string[];
  readonly dropped: readonly string[];
  /** Rows outside every month there is a partition for, by default partition; none when all is well. */
  readonly inDefault: readonly { readonly partition: string; readonly rows: number }[];
}

/** Partitions exist from last month (late events) to three months ahead (a program that does not run). */
const MONTHS_BEHIND = 1;
const MONTHS_AHEAD = 3;

/** Maintenance by several processes at once is done by one: key of the advisory lock. */
const MAINTENANCE_LOCK = 0x78697170;

/**
 * Creates the partitions of the months around `now`, drops those that retention has passed whole, and counts
 * what lies in the default partitions. Rows of a new month that lie in the default partition move into it.
 */
export async function maintainPartitions(
  db: Db,
  now: Date,
  retentionMonths: Readonly<Record<Family, number | undefined>>,
): Promise<PartitionReport> {
  return db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${MAINTENANCE_LOCK})`.execute(trx);
    const report = {
      created: [] as string[],
      dropped: [] as string[],
      inDefault: [] as { partition: string; rows: number }[],
    };
    for (const family of FAMILIES) {
      const table = TABLE_OF[family];
      const existing = await listPartitions(trx, table);
      const keep = retentionMonths[family];
      const oldest = keep === undefined ? undefined : partitionName(table, addMonths(now, -keep));
      const dropped = existing.filter((name) => oldest !== undefined && name < oldest);
      for (const name of dropped) await sql`drop table ${sql.id(name)}`.execute(trx);
      report.dropped.push(...dropped);

      for (let offset = -MONTHS_BEHIND; offset <= MONTHS_AHEAD; offset += 1) {
        const month = addMonths(now, offset);
        const name = partitionName(table, month);
        if (existing.includes(name) || (oldest !== undefined && name < oldest)) continue;
        await createPartition(trx, table, name, month);
        report.created.push(name);
      }
      const rows = await countDefault(trx, table);
      if (rows > 0) report.inDefault.push({ partition: `${table}_default`, rows });
    }
    return report;
  });
}

/** Names of a table's month partitions, `TABLE_YYYY_MM`, which sort by time. */
async function listPartitions(trx: Trx, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent = ${table}::regclass and inhrelid <> ${`${table}_default`}::regclass order by 1`.execute(
    trx,
  );
  return rows.map(({ name }) => name);
}

async function createPartition(trx: Trx, table: string, name: string, month: Date): Promise<void> {
  const from = sql.lit(month.toISOString());
  const to = sql.lit(addMonths(month, 1).toISOString());
  await sql`create table ${sql.id(name)} (like ${sql.id(table)} including defaults including constraints)`.execute(
    trx,
  );
  await sql`
    with moved as (
      delete from ${sql.id(`${table}_default`)} where occurred_at >= ${from} and occurred_at < ${to} returning *
    )
    insert into ${sql.id(name)} select * from moved`.execute(trx);
  await sql`
    alter table ${sql.id(table)} attach partition ${sql.id(name)} for values from (${from}) to (${to})`.execute(
    trx,
  );
}

async function countDefault(trx: Trx, table: string): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from ${sql.id(`${table}_default`)}`.execute(
    trx,
  );
  return Number(rows[0]?.count ?? 0);
}

const partitionName = (table: string, month: Date) =>
  `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;

/** The first instant, in UTC, of the month that lies so many months after the date's. */
function addMonths(date: Date, months: number): Date {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
}
