import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { FAMILIES } from '../domain.ts';
import type { Family } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import type { Db, Trx } from './database.ts';
import { destinationsBehind } from './destinations.ts';
import { becomeOwner } from './roles.ts';

/** The result of one round of maintenance. */
export interface PartitionReport {
  readonly created: readonly string[];
  readonly dropped: readonly string[];
  /** Expired partitions that are kept because these destinations have not passed them yet. */
  readonly held: readonly PartitionBehind[];
  /** Partitions dropped before these destinations, which do not hold them back, had passed all of their events. */
  readonly missed: readonly PartitionBehind[];
  /** Default partitions that contain rows, which belong to no month's partition; normally none. */
  readonly inDefault: readonly { readonly partition: string; readonly rows: number }[];
}

/** A partition, and a destination that has not passed all of its events. */
interface PartitionBehind {
  readonly partition: string;
  readonly destination: string;
}

/** Partitions exist from last month (for late events) to three months ahead (in case the program does not run). */
const MONTHS_BEHIND = 1;
const MONTHS_AHEAD = 3;

/** Key of the advisory lock under which one process at a time maintains the partitions. */
const MAINTENANCE_LOCK = 0x78697170;

/**
 * Creates the partitions of the months around `now`, drops those that have expired, and counts the rows of the default
 * partitions. Rows of a new month in the default partition move to the month's partition. A partition is kept until
 * these destinations, unless they are paused, have passed all of its events.
 */
export async function maintainPartitions(
  db: Db,
  now: Date,
  retentionMonths: Readonly<Record<Family, number | undefined>>,
  destinations: readonly string[] = [],
): Promise<PartitionReport> {
  return db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${MAINTENANCE_LOCK})`.execute(connection);
    try {
      const reports: PartitionReport[] = [];
      for (const family of FAMILIES) {
        // One family at a time: with locks on two tables, this could deadlock with a batch that inserts into both.
        const work = async (trx: Trx) => {
          await becomeOwner(trx);
          return maintainTable(trx, TABLE_OF[family], now, retentionMonths[family], destinations);
        };
        reports.push(await connection.transaction().execute(work));
      }
      return {
        created: reports.flatMap(({ created }) => created),
        dropped: reports.flatMap(({ dropped }) => dropped),
        held: reports.flatMap(({ held }) => held),
        missed: reports.flatMap(({ missed }) => missed),
        inDefault: reports.flatMap(({ inDefault }) => inDefault),
      };
    } finally {
      await sql`select pg_advisory_unlock(${MAINTENANCE_LOCK})`.execute(connection);
    }
  });
}

/** The state of the partitions. */
export interface PartitionState {
  /** Missing partitions of the months around now. */
  readonly missing: readonly string[];
  /** Expired partitions that still exist. */
  readonly passed: readonly string[];
  readonly inDefault: PartitionReport['inDefault'];
}

/** Reads the state of the partitions, and changes none. */
export async function readPartitionState(
  db: Db,
  now: Date,
  retentionMonths: Readonly<Record<Family, number | undefined>>,
): Promise<PartitionState> {
  const missing: string[] = [];
  const passed: string[] = [];
  const inDefault: { partition: string; rows: number }[] = [];
  for (const family of FAMILIES) {
    const table = TABLE_OF[family];
    const existing = await listPartitions(db, table);
    const oldest = oldestKept(table, now, retentionMonths[family]);
    passed.push(...existing.filter((name) => oldest !== undefined && name < oldest));
    const wanted = monthsAround(now).map((month) => partitionName(table, month));
    missing.push(
      ...wanted.filter((name) => !existing.includes(name) && !(oldest !== undefined && name < oldest)),
    );
    const rows = await countDefault(db, table);
    if (rows > 0) inDefault.push({ partition: `${table}_default`, rows });
  }
  return { missing, passed, inDefault };
}

async function maintainTable(
  trx: Trx,
  table: string,
  now: Date,
  keep: number | undefined,
  destinations: readonly string[],
): Promise<PartitionReport> {
  const existing = await listPartitions(trx, table);
  const oldest = oldestKept(table, now, keep);
  const passed = existing.filter((name) => oldest !== undefined && name < oldest);
  const { dropped, held, missed } = await dropPartitions(trx, passed, destinations);

  const created: string[] = [];
  for (const month of monthsAround(now)) {
    const name = partitionName(table, month);
    if (existing.includes(name) || (oldest !== undefined && name < oldest)) continue;
    await createPartition(trx, table, name, month);
    created.push(name);
  }
  const rows = await countDefault(trx, table);
  return {
    created,
    dropped,
    held,
    missed,
    inDefault: rows === 0 ? [] : [{ partition: `${table}_default`, rows }],
  };
}

async function dropPartitions(
  trx: Trx,
  partitions: readonly string[],
  destinations: readonly string[],
): Promise<Pick<PartitionReport, 'dropped' | 'held' | 'missed'>> {
  const dropped: string[] = [];
  const held: PartitionBehind[] = [];
  const missed: PartitionBehind[] = [];
  for (const partition of partitions) {
    const behind = await destinationsBehind(trx, partition);
    const holders = behind.filter(({ name, state }) => state !== 'paused' && destinations.includes(name));
    const named = (list: typeof behind) => list.map(({ name: destination }) => ({ partition, destination }));
    held.push(...named(holders));
    if (holders.length > 0) continue;
    missed.push(...named(behind));
    await sql`drop table ${sql.id(partition)}`.execute(trx);
    dropped.push(partition);
  }
  return { dropped, held, missed };
}

/** Names of a table's month partitions, `TABLE_YYYY_MM`, which sort by time. */
async function listPartitions(trx: Db, table: string): Promise<string[]> {
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
  const inMonth = sql`occurred_at >= ${from} and occurred_at < ${to}`;
  const values = sql`for values from (${from}) to (${to})`;
  const { rows } = await sql`
    select from ${sql.id(`${table}_default`)} where ${inMonth} limit 1`.execute(trx);
  await createTableLike(trx, table, name);
  if (rows.length === 0) await attach(trx, table, name, values);
  else await splitDefault(trx, table, name, inMonth, values);
}

/**
 * Moves the month's rows out of the default partition by replacing that partition, because no row may be deleted. The
 * other rows are copied too, while readers and writers wait; the default partition contains few rows.
 */
async function splitDefault(
  trx: Trx,
  table: string,
  month: string,
  inMonth: RawBuilder<unknown>,
  values: RawBuilder<unknown>,
): Promise<void> {
  const current = sql.id(`${table}_default`);
  const replaced = sql.id(`${table}_replaced`);
  await sql`alter table ${sql.id(table)} detach partition ${current}`.execute(trx);
  await sql`alter table ${current} rename to ${replaced}`.execute(trx);
  await createTableLike(trx, table, `${table}_default`);
  await sql`insert into ${sql.id(month)} select * from ${replaced} where ${inMonth}`.execute(trx);
  await sql`insert into ${current} select * from ${replaced} where not (${inMonth})`.execute(trx);
  await sql`drop table ${replaced}`.execute(trx);
  await attach(trx, table, month, values);
  await attach(trx, table, `${table}_default`, sql`default`);
}

async function createTableLike(trx: Trx, table: string, name: string): Promise<void> {
  await sql`
    create table ${sql.id(name)} (like ${sql.id(table)} including defaults including constraints)`.execute(
    trx,
  );
}

async function attach(trx: Trx, table: string, name: string, values: RawBuilder<unknown>): Promise<void> {
  await sql`alter table ${sql.id(table)} attach partition ${sql.id(name)} ${values}`.execute(trx);
  await sql`select guard_table(${name})`.execute(trx);
}

async function countDefault(trx: Db, table: string): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from ${sql.id(`${table}_default`)}`.execute(
    trx,
  );
  return Number(rows[0]?.count ?? 0);
}

/** The first partition of a table that retention keeps; undefined without retention. */
const oldestKept = (table: string, now: Date, keep: number | undefined) =>
  keep === undefined ? undefined : partitionName(table, addMonths(now, -keep));

/** The months that there are partitions for. */
const monthsAround = (now: Date) =>
  Array.from({ length: MONTHS_BEHIND + MONTHS_AHEAD + 1 }, (_, index) =>
    addMonths(now, index - MONTHS_BEHIND),
  );

const partitionName = (table: string, month: Date) =>
  `${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`;

/** The first instant, in UTC, of the month that lies so many months after the date's. */
export function addMonths(date: Date, months: number): Date {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
}
