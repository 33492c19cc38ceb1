import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import { allRows, onlyRow } from '../server/statement.ts';

/** A table with one partition per month, and a default partition, `TABLE_default`. */
export interface PartitionedTable {
  readonly name: string;
  /** The column that decides the month. */
  readonly time: 'occurred_at' | 'received_at';
  /** The name of its retention. */
  readonly keep: keyof RetentionMonths;
}

/** Months that rows are kept, by family, and those of `deliveries`. Absent or undefined: for ever. */
export type RetentionMonths = Readonly<Partial<Record<Family | 'deliveries', number | undefined>>>;

/** The tables in the order in which a transaction that stores locks them. */
export const PARTITIONED: readonly PartitionedTable[] = [
  ...FAMILIES.map((family) => ({
    name: TABLE_OF[family],
    time: 'occurred_at' as const,
    keep: family,
  })),
  { name: 'deliveries', time: 'received_at', keep: 'deliveries' },
];

export const defaultOf = (table: PartitionedTable) => `${table.name}_default`;

/** Rows that this constraint of a default partition refuses wait, and are stored once it is gone: see `classifyFailure`. */
export const WAITING_CONSTRAINT = 'wait_for_partition';

/** Partitions exist from last month (for late events) to three months ahead (in case the program does not run). */
const MONTHS_BEHIND = 1;
const MONTHS_AHEAD = 3;

/** The months that there are partitions for. */
export const monthsAround = (now: Date) =>
  Array.from({ length: MONTHS_BEHIND + MONTHS_AHEAD + 1 }, (_, index) =>
    addMonths(now, index - MONTHS_BEHIND),
  );

/** The first instant, in UTC, of the month that is this many months after the date's. */
export function addMonths(date: Date, months: number): Date {
  // Date.UTC takes the years up to 99 for those of the last century.
  const first = new Date(date);
  first.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
  first.setUTCHours(0, 0, 0, 0);
  return first;
}

/** A month as it ends the names of partitions; these sort by time. */
const monthName = (month: Date) => month.toISOString().slice(0, 7).replace('-', '_');

/** A month as the database's functions take it. */
export const firstDay = (month: Date) => month.toISOString().slice(0, 10);

export const partitionName = (table: PartitionedTable, month: Date) => `${table.name}_${monthName(month)}`;

/** The month that the name of a partition ends with. */
export const monthOf = (partition: string) => new Date(`${partition.slice(-7).replace('_', '-')}-01`);

export const endsBefore = (partition: string, month: Date) => partition.slice(-7) < monthName(month);

/** Whether rows of the month have a partition among these. An adopted database may have one of all months up to its last. */
export const isCovered = (table: PartitionedTable, month: Date, partitions: readonly string[]) =>
  partitions.some(
    (name) =>
      name === partitionName(table, month) ||
      (name.startsWith(`${table.name}_until_`) && !endsBefore(name, month)),
  );

/** The first month that retention keeps; undefined without retention. */
export const oldestKept = (now: Date, keep: number | undefined) =>
  keep === undefined ? undefined : addMonths(now, -keep);

/** The names of a table's partitions in the order of their names, without the default partition. */
export async function listPartitions(db: Db, table: PartitionedTable): Promise<string[]> {
  const rows = await allRows<{ name: string }>(db)`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent = ${table.name}::regclass and inhrelid <> ${defaultOf(table)}::regclass order by 1`;
  return rows.map(({ name }) => name);
}

/** Whether a table of this name is a partition now. */
export async function isPartition(db: Db, name: string): Promise<boolean> {
  const rows = await allRows(db)`select from pg_inherits where inhrelid = to_regclass(${name})`;
  return rows.length > 0;
}

/** The size of a partition on the server's disk, and its rows by the estimate of the server; null if there is none yet. */
export const sizeOfPartition = (db: Db, partition: string) =>
  onlyRow<{ bytes: number; rows: number | null }>(db)`
    select pg_total_relation_size(oid)::float8 as bytes, nullif(reltuples, -1)::float8 as rows
    from pg_class where oid = ${partition}::regclass`;

/** A month that begins so much later is what a sender claims, not one that comes. */
export const farMonth = (now: Date) => addMonths(now, 12);

/** More wait for the next round: a sender may claim any month. */
const OPENED_AT_ONCE = 200;

/** No cloud has sent anything before: an earlier time is wrong. */
export const FIRST_MONTH = new Date('2015-01-01T00:00:00Z');

/**
 * The months of rows in the default partition that are to be opened: those that may be right, up to three months ahead, and
 * those that retention drops then: past ones, and those that are years ahead by when their last row was received.
 */
export async function monthsInDefault(
  db: Db,
  table: PartitionedTable,
  now: Date,
  oldest: Date | undefined,
): Promise<readonly Date[]> {
  const time = sql.id(table.time);
  const isPlausible = (at: RawBuilder<unknown>) =>
    sql`(${at} >= ${FIRST_MONTH} and ${at} < ${addMonths(now, MONTHS_AHEAD + 1)})`;
  const month = sql`date_trunc('month', ${time}, 'UTC')`;
  const rows = await allRows<{ month: Date }>(db)`
    select ${month} as month from ${sql.id(defaultOf(table))}
    where ${isPlausible(time)} or ${time} < ${oldest ?? null} or ${time} >= ${farMonth(now)}
    group by 1 having ${isPlausible(month)} or max(least(${time}, received_at)) < ${oldest ?? null}
    order by ${isPlausible(month)} desc, 1 limit ${OPENED_AT_ONCE}`;
  return rows.map((row) => row.month);
}

/** Whether a partition of a month that is years ahead has rows, and none received since `oldest`. */
export async function isLongReceived(
  db: Db,
  table: PartitionedTable,
  partition: string,
  now: Date,
  oldest: Date | undefined,
): Promise<boolean> {
  if (oldest === undefined || table.time === 'received_at' || endsBefore(partition, farMonth(now)))
    return false;
  const { isOver } = await onlyRow<{ isOver: boolean }>(db)`
    select coalesce(max(received_at) < ${oldest}, false) as "isOver" from ${sql.id(partition)}`;
  return isOver;
}

/** Counting further would not change what to do, and takes long. */
export const MAX_DEFAULT_COUNT = 10_000;

export interface DefaultRows {
  readonly partition: string;
  /** Counted up to 10,001. */
  readonly rows: number;
  readonly first: Date;
  readonly last: Date;
}

/** Counts the rows of the default partition. None: it is empty. */
export async function readDefault(db: Db, table: PartitionedTable): Promise<readonly DefaultRows[]> {
  const partition = defaultOf(table);
  const [rows, time] = [sql.id(partition), sql.id(table.time)];
  return allRows<DefaultRows>(db)`
    select ${partition}::text as partition, rows, first, last from (
      select (select min(${time}) from ${rows}) as first, (select max(${time}) from ${rows}) as last,
        (select count(*)::int from (select from ${rows} limit ${MAX_DEFAULT_COUNT + 1}) as counted) as rows) as found
    where rows > 0`;
}
