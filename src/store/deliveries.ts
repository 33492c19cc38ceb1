import { sql } from 'kysely';
import type { MessageType, Origin, SecretForm, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { Db, Trx } from './database.ts';
import { StoredMeanwhileError } from './failure.ts';
import { arrayLiteral, copyLine, copyStatement, insertRows, insertStatement } from './insert-rows.ts';
import type { Column } from './insert-rows.ts';

/** A delivery with its counts: of the rows it must account for, and of what became of them. */
export interface NewDelivery {
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
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
  const inTime =
    received === undefined
      ? sql`true`
      : sql`received_at between ${received.first}::timestamptz and ${received.last}::timestamptz`;
  const { rows } = await sql<{ delivery_id: string }>`
    select delivery_id from deliveries
    where delivery_id = any(${arrayLiteral(deliveryIds)}::uuid[]) and ${inTime}`.execute(db);
  return new Set(rows.map((row) => row.delivery_id));
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
