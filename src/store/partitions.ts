import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { FAMILIES } from '../domain.ts';
import type { Family } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import { isLockTimeout } from '../postgres.ts';
import type { Db, Trx } from './database.ts';
import { destinationsBehind } from './destinations.ts';
import { limitLockWait, lockRow } from './locks.ts';
import { becomeOwner } from './roles.ts';
import { findHolders } from './server-sessions.ts';
import type { Session } from './server-sessions.ts';

/** The result of one round of maintenance. */
export interface PartitionReport {
  readonly created: readonly string[];
  readonly dropped: readonly string[];
  /** Expired partitions that are kept because these destinations have not passed them yet. */
  readonly held: readonly PartitionBehind[];
  /** Partitions dropped before these destinations, which do not hold them back, had passed all of their events. */
  readonly missed: readonly PartitionBehind[];
  /** Changes that did not get their locks, because others use the table. */
  readonly blocked: readonly BlockedChange[];
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

/**
 * How long a change waits for the locks that it needs. Everybody else who needs the table queues behind it meanwhile,
 * so this is also the longest time that maintenance makes storing and the console wait for a reader.
 */
const LOCK_WAIT_MS = 300;

/** A change of the partitions; each is one transaction. */
interface Change {
  readonly action: 'create' | 'drop';
  readonly table: string;
  readonly partition: string;
}

/** A change that did not get its locks. */
export interface BlockedChange extends Change {
  /** The sessions that use the table, longest first; empty if they have ended since. */
  readonly by: readonly Session[];
}

/**
 * Creates the partitions of the months around `now`, drops those that have expired, and counts the rows of the default
 * partitions. Rows of a new month in the default partition move to the month's partition. A partition is kept until
 * these destinations, unless they are paused, have passed all of its events. A change that does not get its locks at
 * once is reported as blocked: call again later.
 */
export async function maintainPartitions(
  db: Db,
  now: Date,
  retentionMonths: Readonly<Record<Family, number | undefined>>,
  destinations: readonly string[] = [],
): Promise<PartitionReport> {
  const reports: PartitionReport[] = [];
  for (const family of FAMILIES) {
    const table = TABLE_OF[family];
    const oldest = oldestKept(table, now, retentionMonths[family]);
    const created = await createMissing(db, table, now, oldest);
    const dropped = await dropExpired(db, table, oldest, destinations);
    const rows = await countDefault(db, table);
    reports.push({
      ...dropped,
      created: created.done,
      blocked: [...created.blocked, ...dropped.blocked],
      inDefault: rows === 0 ? [] : [{ partition: `${table}_default`, rows }],
    });
  }
  return {
    created: reports.flatMap(({ created }) => created),
    dropped: reports.flatMap(({ dropped }) => dropped),
    held: reports.flatMap(({ held }) => held),
    missed: reports.flatMap(({ missed }) => missed),
    blocked: reports.flatMap(({ blocked }) => blocked),
    inDefault: reports.flatMap(({ inDefault }) => inDefault),
  };
}

/** The partitions of the month of `now` that do not exist: events of this month would go to the default partition. */
export async function missingNow(db: Db, now: Date): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const family of FAMILIES) {
    const name = partitionName(TABLE_OF[family], now);
    if (!(await exists(db, name))) missing.push(name);
  }
  return missing;
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

async function createMissing(
  db: Db,
  table: string,
  now: Date,
  oldest: string | undefined,
): Promise<{ readonly done: readonly string[]; readonly blocked: readonly BlockedChange[] }> {
  const done: string[] = [];
  const blocked: BlockedChange[] = [];
  const existing = await listPartitions(db, table);
  for (const month of monthsAround(now)) {
    const name = partitionName(table, month);
    if (existing.includes(name) || (oldest !== undefined && name < oldest)) continue;
    const change: Change = { action: 'create', table, partition: name };
    const found = await make(db, change, async (trx) => {
      if (await exists(trx, name)) return;
      await createPartition(trx, table, name, month);
      done.push(name);
    });
    blocked.push(...found);
  }
  return { done, blocked };
}

async function dropExpired(
  db: Db,
  table: string,
  oldest: string | undefined,
  destinations: readonly string[],
): Promise<Pick<PartitionReport, 'dropped' | 'held' | 'missed' | 'blocked'>> {
  const dropped: string[] = [];
  const held: PartitionBehind[] = [];
  const missed: PartitionBehind[] = [];
  const blocked: BlockedChange[] = [];
  const existing = await listPartitions(db, table);
  for (const partition of existing.filter((name) => oldest !== undefined && name < oldest)) {
    const holders = (await behindOf(db, partition, destinations)).holders;
    held.push(...holders);
    if (holders.length > 0) continue;
    const found = await make(db, { action: 'drop', table, partition }, async (trx) => {
      if (!(await exists(trx, partition))) return;
      // The lock that the drop needs anyway: nobody stores a late event between the check and the drop.
      await sql`lock table ${sql.id(table)} in access exclusive mode`.execute(trx);
      const behind = await behindOf(trx, partition, destinations);
      held.push(...behind.holders);
      if (behind.holders.length > 0) return;
      await sql`drop table ${sql.id(partition)}`.execute(trx);
      missed.push(...behind.others);
      dropped.push(partition);
    });
    blocked.push(...found);
  }
  return { dropped, held, missed, blocked };
}

/** The destinations that have not passed all events of a partition: those that hold it back, and the others. */
async function behindOf(
  db: Db,
  partition: string,
  destinations: readonly string[],
): Promise<{ readonly holders: readonly PartitionBehind[]; readonly others: readonly PartitionBehind[] }> {
  const behind = await destinationsBehind(db, partition);
  const isHolder = ({ name, state }: (typeof behind)[number]) =>
    state !== 'paused' && destinations.includes(name);
  const named = (list: typeof behind) => list.map(({ name: destination }) => ({ partition, destination }));
  return {
    holders: named(behind.filter(isHolder)),
    others: named(behind.filter((one) => !isHolder(one))),
  };
}

/**
 * Makes a change in a transaction of its own, one process at a time: with the locks of two tables, it could deadlock
 * with a batch that inserts into both. Returns the change if it did not get its locks; nothing is changed then.
 */
async function make(
  db: Db,
  change: Change,
  work: (trx: Trx) => Promise<void>,
): Promise<readonly BlockedChange[]> {
  try {
    await db.transaction().execute(async (trx) => {
      await lockRow(trx, 'maintenance');
      await becomeOwner(trx);
      await limitLockWait(trx, LOCK_WAIT_MS);
      await work(trx);
    });
    return [];
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const tables = sql`select relid from pg_partition_tree(${change.table})`;
    return [{ ...change, by: await findHolders(db, tables, LOCK_WAIT_MS / 1_000) }];
  }
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

async function exists(db: Db, table: string): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`select to_regclass(${table}) is not null as exists`.execute(
    db,
  );
  return rows[0]?.exists === true;
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
  // Attached last: readers and writers of the default partition wait from then on.
  await sql`select guard_table(${name}), order_table(${name})`.execute(trx);
  await sql`alter table ${sql.id(table)} attach partition ${sql.id(name)} ${values}`.execute(trx);
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
