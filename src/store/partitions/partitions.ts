import type { Db, Trx } from '../server/database.ts';
import { destinationsBehind } from '../destinations/destinations.ts';
import { hasLateEvents, recordDropped } from '../reconcile/gaps.ts';
import { createMonths, releaseRows, type CreatedMonths } from './open-month.ts';
import { recordEnded, SERVICE, type OperatorAction } from '../access/operator-log.ts';
import { lockAtOnce, makeChange } from './partition-changes.ts';
import type { Change } from './partition-changes.ts';
import {
  defaultOf,
  endsBefore,
  farMonth,
  isCovered,
  isLongReceived,
  isPartition,
  listPartitions,
  monthsAround,
  monthsInDefault,
  oldestKept,
  PARTITIONED,
  partitionName,
  readDefault,
  sizeOfPartition,
  type DefaultRows,
  type PartitionedTable,
  type RetentionMonths,
} from './partitioned-tables.ts';
import { keepRecount, markDropped } from '../deliveries/recount-deliveries.ts';
import { allRows, run } from '../server/statement.ts';

export interface PartitionReport extends CreatedMonths {
  readonly dropped: string[];
  /** Expired partitions that are kept because these destinations have not passed them yet. */
  readonly held: PartitionBehind[];
  /** Partitions dropped before these destinations, which do not hold them back, had passed all of their events. */
  readonly missed: PartitionBehind[];
  /** Default partitions that contain rows, whose times cannot be right unless a change is blocked; normally none. */
  readonly inDefault: DefaultRows[];
}

/** A partition, and a destination that has not passed all of its events. */
interface PartitionBehind {
  readonly partition: string;
  readonly destination: string;
}

/**
 * Creates the partitions of the months around `now`, drops those that have expired, and counts the rows of the default
 * partitions. Rows of the default partition move to partitions of their months, if these may be right or expire: a month that is
 * years ahead does once no row was received since `oldestKept`. A partition is kept until
 * these destinations, unless they are paused, have passed all of its events. A change that does not get its locks at
 * once is reported as blocked: call again later.
 */
export async function maintainPartitions(
  db: Db,
  now: Date,
  retentionMonths: RetentionMonths,
  destinations: readonly string[] = [],
): Promise<PartitionReport> {
  const report: PartitionReport = {
    created: [],
    dropped: [],
    held: [],
    missed: [],
    blocked: [],
    inDefault: [],
  };
  for (const table of PARTITIONED) {
    const oldest = oldestKept(now, retentionMonths[table.keep]);
    await createMissing(db, table, now, oldest, report);
    await dropExpired(db, table, now, oldest, destinations, report);
    report.inDefault.push(...(await readDefault(db, table)));
  }
  return report;
}

/** The partitions of events that the month of `now` does not have: its events would go to the default partition. */
export async function missingNow(db: Db, now: Date): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const table of PARTITIONED.filter(({ keep }) => keep !== 'deliveries')) {
    const name = partitionName(table, now);
    if (!(await isPartition(db, name))) missing.push(name);
  }
  return missing;
}

/** Reads the state of the partitions, and changes none. */
export async function readPartitionState(db: Db, now: Date, retentionMonths: RetentionMonths) {
  /** Missing partitions of the months around now. */
  const missing: string[] = [];
  /** Expired partitions that still exist, and default partitions with rows that have expired. */
  const passed: string[] = [];
  /** With the number of months that rows wait for; the times of all others cannot be right. */
  const inDefault: (DefaultRows & { readonly waiting: number })[] = [];
  for (const table of PARTITIONED) {
    const existing = await listPartitions(db, table);
    const oldest = oldestKept(now, retentionMonths[table.keep]);
    passed.push(...existing.filter((name) => isExpired(name, oldest)));
    missing.push(...missingMonths(table, now, oldest, existing).map((month) => partitionName(table, month)));
    const waiting = await monthsInDefault(db, table, now, oldest);
    if (waiting.some((month) => month >= farMonth(now) || (oldest !== undefined && month < oldest)))
      passed.push(defaultOf(table));
    for (const rows of await readDefault(db, table)) inDefault.push({ ...rows, waiting: waiting.length });
  }
  return { missing, passed, inDefault };
}

const isExpired = (partition: string, oldest: Date | undefined) =>
  oldest !== undefined && endsBefore(partition, oldest);

const missingMonths = (
  table: PartitionedTable,
  now: Date,
  oldest: Date | undefined,
  existing: readonly string[],
) =>
  monthsAround(now).filter(
    (month) => !isCovered(table, month, existing) && !(oldest !== undefined && month < oldest),
  );

async function createMissing(
  db: Db,
  table: PartitionedTable,
  now: Date,
  oldest: Date | undefined,
  report: PartitionReport,
): Promise<void> {
  report.blocked.push(...(await releaseRows(db, table)));
  const missing = missingMonths(table, now, oldest, await listPartitions(db, table));
  await createMonths(db, table, [...missing, ...(await monthsInDefault(db, table, now, oldest))], report);
}

/** The end of the name of a partition that is not one any more, and is dropped next. */
const DETACHED = '_detached';

async function dropExpired(
  db: Db,
  table: PartitionedTable,
  now: Date,
  oldest: Date | undefined,
  destinations: readonly string[],
  { dropped, held, missed, blocked }: PartitionReport,
): Promise<void> {
  for (const partition of await listPartitions(db, table)) {
    if (!isExpired(partition, oldest) && !(await isLongReceived(db, table, partition, now, oldest))) continue;
    const isDeliveries = table.keep === 'deliveries';
    const behind = isDeliveries ? NOBODY : await behindOf(db, partition, destinations);
    held.push(...behind.holders);
    // The sums of deliveries are kept, up to the last row.
    if (behind.holders.length > 0 || (isDeliveries && !(await keepRecount(db, partition)))) continue;
    const hasLate = !isDeliveries && (await hasLateEvents(db, partition));
    const change: Change = { action: 'drop', table: table.name, partition };
    const found = await makeChange(db, change, async (trx) => {
      if (!(await isPartition(trx, partition))) return;
      // Nobody stores a late event between the check and the drop.
      await lockAtOnce(trx, [table.name, defaultOf(table), partition]);
      const now = isDeliveries ? NOBODY : await behindOf(trx, partition, destinations);
      held.push(...now.holders);
      if (now.holders.length > 0) return;
      if (isDeliveries && !(await markDropped(trx, partition))) return;
      await recordDropped(trx, table, partition, hasLate);
      await recordEnded(trx, await describeDrop(trx, table, partition));
      await run(trx)`select detach_month(${table.name}, ${partition})`;
      missed.push(...now.others);
      dropped.push(partition);
    });
    blocked.push(...found);
    // In order: an older month of deliveries is not compared any more once a later one is gone.
    if (isDeliveries && found.length > 0) break;
  }
  await dropDetached(db, table);
}

/** The entry of the operator log; rows by the estimate of the server, as counting them takes as long as reading them. */
async function describeDrop(trx: Trx, table: PartitionedTable, partition: string): Promise<OperatorAction> {
  const { bytes, rows } = await sizeOfPartition(trx, partition);
  return {
    operator: SERVICE,
    action: 'retention.drop',
    subject: partition,
    details: { retention: table.keep, bytes, estimated_rows: rows ?? 0 },
  };
}

/** Drops the tables that were detached: nobody can use them any more, so nobody waits while their files are deleted. */
export async function dropDetached(db: Db, table: PartitionedTable): Promise<void> {
  const rows = await allRows<{ name: string }>(db)`
    select oid::regclass::text as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and not relispartition
      and starts_with(relname, ${`${table.name}_`}) and relname like ${`%\\${DETACHED}`}`;
  for (const { name } of rows) {
    await makeChange(db, { action: 'drop', table: table.name, partition: name }, async (trx) => {
      await run(trx)`select drop_detached(${name})`;
    });
  }
}

type Behind = Readonly<Record<'holders' | 'others', readonly PartitionBehind[]>>;

const NOBODY: Behind = { holders: [], others: [] };

/** The destinations that have not passed all events of a partition: those that hold it back, and the others. */
async function behindOf(db: Db, partition: string, destinations: readonly string[]): Promise<Behind> {
  const behind = await destinationsBehind(db, partition);
  const isHolder = ({ name, state }: (typeof behind)[number]) =>
    state !== 'paused' && destinations.includes(name);
  const named = (list: typeof behind) => list.map(({ name: destination }) => ({ partition, destination }));
  return {
    holders: named(behind.filter(isHolder)),
    others: named(behind.filter((one) => !isHolder(one))),
  };
}
