import { sql, type Selectable } from 'kysely';
import type { Db, Trx } from '../server/database.ts';
import { StoredMeanwhileError } from '../server/failure.ts';
import type { Tables } from '../server/schema/tables.ts';
import {
  arrayLiteral,
  copyLine,
  copyStatement,
  insertRows,
  insertStatement,
  type Column,
} from '../events/insert-rows.ts';
import { firstRow, run } from '../server/statement.ts';

/**
 * A delivery with its counts: of the rows it must account for, and of what became of them. `refused_count` are records of
 * erased persons, which are not stored again and not expected.
 */
export type NewDelivery = Omit<
  Selectable<Tables['deliveries']>,
  'received_at' | 'stored_at' | 'xid' | 'era'
> & {
  /** ISO 8601. */
  readonly received_at: string;
};

/**
 * Those of these deliveries that are stored already. With the times of the first and the last of them, only the months in
 * between are searched.
 */
export async function findStoredDeliveries(
  db: Db,
  deliveryIds: readonly string[],
  received?: { readonly first: Date; readonly last: Date },
): Promise<Set<string>> {
  let query = db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where(sql<boolean>`delivery_id = any(${arrayLiteral(deliveryIds)}::uuid[])`);
  if (received !== undefined)
    query = query.where('received_at', '>=', received.first).where('received_at', '<=', received.last);
  return new Set((await query.execute()).map((row) => row.delivery_id));
}

const COLUMNS = (
  [
    ['delivery_id', 'uuid'],
    ['source', 'text'],
    ['message_type', 'text'],
    ['received_at', 'timestamptz'],
    ['origin', 'text'],
    ['secret_form', 'text'],
    ['body_bytes', 'integer'],
    ['record_count', 'integer'],
    ['expected_count', 'integer'],
    ['event_count', 'integer'],
    ['duplicate_count', 'integer'],
    ['quarantined_count', 'integer'],
    ['refused_count', 'integer'],
    ['sent_type', 'text'],
  ] as const
).map(([name, type]): Column<NewDelivery> => ({ name, type, value: (row) => row[name] }));

/** The statement that copies deliveries, and a line of its data. */
export const COPY_DELIVERIES = copyStatement('deliveries', COLUMNS);
export const deliveryLine = (delivery: NewDelivery): string => copyLine(COLUMNS, delivery);

const STATEMENT = insertStatement('deliveries', COLUMNS, 'returning delivery_id');

/**
 * Inserts deliveries. Throws StoredMeanwhileError when another transaction has stored one of them since
 * `findStoredDeliveries`: this transaction must be rolled back.
 */
export async function insertDeliveries(trx: Trx, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return;
  const inserted = await insertRows(trx, STATEMENT, COLUMNS, deliveries);
  const stored = deliveries.length - inserted.length;
  if (stored > 0)
    throw new StoredMeanwhileError(`${stored} deliveries were stored by another worker meanwhile`);
}

/**
 * Looks up which of these deliveries are stored, and where the write-ahead log of the same server ends then: their commits are
 * before it. `replicas` is the number of replicas whose log counts as replicated; 0: none does.
 */
export async function locateDeliveries(db: Db, deliveryIds: readonly string[], replicas: number) {
  // On one connection: while a standby takes over, two connections may go to two servers.
  return db.transaction().execute(async (trx) => {
    const stored =
      deliveryIds.length === 0 ? new Set<string>() : await findStoredDeliveries(trx, deliveryIds);
    // The service's role inherits nothing, so a right that an administrator grants must be taken on.
    if (replicas > 0) {
      await run(trx)`
        select set_config('role', 'pg_read_all_stats', true) where pg_has_role('pg_read_all_stats', 'member')
          and not pg_has_role('pg_read_all_stats', 'usage')`;
    }
    const row = await firstRow<{ file: string; bytes: string; replicated: string | null }>(trx)`
      select pg_walfile_name(pg_current_wal_insert_lsn()) as file,
        (pg_current_wal_insert_lsn() - '0/0')::text as bytes,
        (select (flush_lsn - '0/0')::text from pg_stat_replication
          where flush_lsn is not null order by flush_lsn desc
          offset ${Math.max(0, replicas - 1)} limit ${Math.min(1, replicas)}) as replicated
      from pg_is_in_recovery() as is_standby where not is_standby`;
    /** Undefined if the server is a standby. */
    const at = row && {
      /** Rises when a standby takes over, and when a backup is restored to a point in time. */
      timeline: Number.parseInt(row.file.slice(0, 8), 16),
      /** Bytes from the beginning of the log. */
      bytes: BigInt(row.bytes),
      /** Up to where enough replicas have the log on their disks; undefined: unknown, or they are fewer. */
      replicatedBytes: row.replicated === null ? undefined : BigInt(row.replicated),
    };
    return { stored, at };
  });
}
