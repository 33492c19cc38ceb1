import { sql } from 'kysely';
import type { Origin, SecretForm } from '../../events/domain.ts';
import type { ReceivedType } from '../server/schema/delivery-tables.ts';
import type { Db, Trx } from '../server/database.ts';
import { StoredMeanwhileError } from '../server/failure.ts';
import {
  arrayLiteral,
  copyLine,
  copyStatement,
  insertRows,
  insertStatement,
  type Column,
} from '../events/insert-rows.ts';
import { firstRow, run } from '../server/statement.ts';

/** A delivery with its counts: of the rows it must account for, and of what became of them. */
export interface NewDelivery {
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: ReceivedType;
  /** Of `OTHER`: the name of the message type as sent. */
  readonly sentType?: string | undefined;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly origin: Origin;
  readonly secretForm: SecretForm | null;
  readonly bodyBytes: number;
  readonly recordCount: number;
  readonly expectedCount: number;
  readonly eventCount: number;
  readonly duplicateCount: number;
  readonly quarantinedCount: number;
  /** Records of erased persons, which are not stored again and not expected. */
  readonly refusedCount: number;
}

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

const COLUMNS: readonly Column<NewDelivery>[] = [
  { name: 'delivery_id', type: 'uuid', value: (row) => row.deliveryId },
  { name: 'source', type: 'text', value: (row) => row.source },
  { name: 'message_type', type: 'text', value: (row) => row.messageType },
  { name: 'received_at', type: 'timestamptz', value: (row) => row.receivedAt },
  { name: 'origin', type: 'text', value: (row) => row.origin },
  { name: 'secret_form', type: 'text', value: (row) => row.secretForm },
  { name: 'body_bytes', type: 'integer', value: (row) => row.bodyBytes },
  { name: 'record_count', type: 'integer', value: (row) => row.recordCount },
  { name: 'expected_count', type: 'integer', value: (row) => row.expectedCount },
  { name: 'event_count', type: 'integer', value: (row) => row.eventCount },
  { name: 'duplicate_count', type: 'integer', value: (row) => row.duplicateCount },
  { name: 'quarantined_count', type: 'integer', value: (row) => row.quarantinedCount },
  { name: 'refused_count', type: 'integer', value: (row) => row.refusedCount },
  { name: 'sent_type', type: 'text', value: (row) => row.sentType ?? null },
];

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
