import { sql } from 'kysely';
import type { Client } from 'pg';
import { typesOfTable } from '../../events/message-types.ts';
import { recordEnded, type Operator } from '../access/operator-log.ts';
import { destinationsBehind } from '../destinations/destinations.ts';
import { lockAtOnce, makeChange, type BlockedChange } from '../partitions/partition-changes.ts';
import {
  addMonths,
  firstDay,
  defaultOf,
  isPartition,
  monthOf,
  type PartitionedTable,
} from '../partitions/partitioned-tables.ts';
import type { Db, Trx } from '../server/database.ts';
import { allRows, onlyRow, run } from '../server/statement.ts';
import { markArchived, type FileGroup } from './archived-files.ts';

/** What a partition has at a moment, by which is known whether it is still the same. */
export interface PartitionState {
  /** Transactions from this one on may have stored events since. */
  readonly xmin: string;
  /** The table itself: another process may have archived it, and left an empty one of the same name. */
  readonly oid: string;
  /** The last erasure. */
  readonly erasure: string | null;
}

/**
 * A month with fewer events of a source and type is one file, and a larger one has a file for each day: an erasure rewrites files
 * in a second, and a query over a year does not open hundreds of small ones.
 */
const ROWS_OF_A_MONTH = 200_000;

/** Reads what the files of a partition are to be, in the snapshot of this connection's transaction. */
export async function readGroups(client: Client, partition: string): Promise<readonly FileGroup[]> {
  const name = client.escapeIdentifier(partition);
  const { rows } = await client.query<FileGroup>(
    `with days as (
       select source, message_type, date_trunc('day', occurred_at, 'UTC') as at,
         min(occurred_at) as first_at, max(occurred_at) as last_at,
         min(received_at) as first_received_at, max(received_at) as last_received_at, count(*) as row_count
       from ${name} group by 1, 2, 3
     ), periods as (
       select *, case when sum(row_count) over (partition by source, message_type) > $2 then at end as period,
         sum(row_count) over () as all_rows from days
     )
     select source, message_type, to_char(min(at) at time zone 'UTC', 'YYYY-MM-DD') as day, min(first_at)::text as first_at,
       max(last_at)::text as last_at, min(first_received_at)::text as first_received_at,
       max(last_received_at)::text as last_received_at, sum(row_count)::float8 as row_count,
       round(pg_total_relation_size($1::regclass) * sum(row_count) / all_rows)::float8 as table_bytes
     from periods group by source, message_type, period, all_rows order by day, source, message_type`,
    [name, ROWS_OF_A_MONTH],
  );
  return rows;
}

export async function readPartitionState(client: Client, partition: string): Promise<PartitionState> {
  const { rows } = await client.query<PartitionState>(
    `select pg_snapshot_xmin(pg_current_snapshot())::text as xmin, $1::regclass::oid::text as oid,
       (select max(id)::text from erasures) as erasure`,
    [client.escapeIdentifier(partition)],
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the database returned no row for its snapshot');
  return row;
}

/**
 * The statement that sends the rows of a group in this order, each as a line with a JSON object. JSON has neither of the
 * characters that CSV would quote with and separate by here.
 */
export const copyGroup = (
  client: Client,
  partition: string,
  group: FileGroup,
  columns: string,
  order: string,
) => `
  copy (
    select row_to_json(one) from (
      select ${columns} from ${client.escapeIdentifier(partition)}
      where source = ${client.escapeLiteral(group.source)} and message_type = ${client.escapeLiteral(group.message_type)}
        and occurred_at between ${client.escapeLiteral(group.first_at)} and ${client.escapeLiteral(group.last_at)}
      order by ${order}
    ) as one
  ) to stdout (format csv, quote E'\\x01', delimiter E'\\x02')`;

/** The positions of the log among which are all events of a partition. */
export async function positionsOfPartition(db: Db, partition: string) {
  return onlyRow<{ from: number; to: number }>(db)`
    with received as (select min(received_at) as first, max(received_at) as last from ${sql.id(partition)})
    select coalesce((select min(first) from log_tiles where received_to >= received.first), 0)::float8 as "from",
      coalesce((select max(first) + 256 from log_tiles where received_from <= received.last), 0)::float8 as "to"
    from received`;
}

/** Why a month is not archived yet; undefined: nothing is in the way. */
export async function reasonToWait(
  db: Db,
  table: PartitionedTable,
  partition: string,
): Promise<string | undefined> {
  const behind = await destinationsBehind(db, partition);
  if (behind.length > 0) {
    return `${behind.map(({ name }) => `destination ${name}`).join(' and ')} has not received all its events`;
  }
  const since = monthOf(partition);
  const pending = await allRows(db)`
    select from coverage_between(${since}, ${addMonths(since, 1)})
    where state = 'pending' and message_type = any(${typesOfTable(table.name)}::text[]) limit 1`;
  return pending.length === 0 ? undefined : 'it is still being compared with the cloud';
}

/** The month stays where it is, for now. */
export class NotArchivedError extends Error {
  override readonly name = 'NotArchivedError';
}

export interface ArchivedPartition {
  readonly table: PartitionedTable;
  readonly partition: string;
  readonly state: PartitionState;
  readonly files: readonly string[];
  readonly operator: Operator;
  /** For the operator log. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Takes a partition away, whose rows are in files from the same transaction on. An empty one refuses what comes for the month:
 * it is quarantined, because it may be in a file already. Returns the change if others use the table.
 * Throws a NotArchivedError, with nothing changed, if the partition is no longer what was written.
 */
export async function detachArchived(db: Db, archived: ArchivedPartition): Promise<readonly BlockedChange[]> {
  const { table, partition, files, operator, details } = archived;
  return makeChange(db, { action: 'drop', table: table.name, partition }, async (trx) => {
    await lockAtOnce(trx, [table.name, defaultOf(table), partition]);
    // Another process may have archived it, too.
    const isSame = (await isPartition(trx, partition)) && !(await hasChanged(trx, archived));
    if (!isSame || !(await markArchived(trx, files)))
      throw new NotArchivedError(`${partition} stays: it changed in the meantime`);
    await recordEnded(trx, { operator, action: 'archive.month', subject: partition, details });
    await run(trx)`select detach_month(${table.name}, ${partition})`;
    await run(trx)`select close_month(${table.name}, ${firstDay(monthOf(partition))}::date)`;
  });
}

async function hasChanged(trx: Trx, { partition, state }: ArchivedPartition): Promise<boolean> {
  const { changed } = await onlyRow<{ changed: boolean }>(trx)`
    select exists (select from ${sql.id(partition)} where xid >= ${state.xmin}::xid8)
      or ${partition}::regclass::oid::text <> ${state.oid}
      or (select max(id)::text from erasures) is distinct from ${state.erasure}::text as changed`;
  return changed;
}

export async function hasRows(db: Db, partition: string): Promise<boolean> {
  return (await allRows(db)`select from ${sql.id(partition)} limit 1`).length > 0;
}
