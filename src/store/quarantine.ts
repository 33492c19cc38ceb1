import type { MessageType, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { Trx } from './database.ts';
import { insertRows, insertStatement } from './insert-rows.ts';
import type { Column } from './insert-rows.ts';

/** Something set aside: where it came from, why, and its bytes as they came. */
export interface NewQuarantined {
  readonly quarantineId: string;
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly reason: string;
  readonly content: Buffer;
  /** Content-Encoding of the bytes, of a whole body. */
  readonly encoding: string | null;
  /** How many identical ones of the same delivery stand before it. */
  readonly twinsBefore: number;
}

const COLUMNS: readonly Column<NewQuarantined>[] = [
  { name: 'quarantine_id', type: 'uuid', value: (row) => row.quarantineId },
  { name: 'delivery_id', type: 'uuid', value: (row) => row.deliveryId },
  { name: 'source', type: 'text', value: (row) => row.source },
  { name: 'message_type', type: 'text', value: (row) => row.messageType },
  { name: 'received_at', type: 'timestamptz', value: (row) => row.receivedAt },
  { name: 'reason', type: 'text', value: (row) => row.reason },
  { name: 'content', type: 'bytea', value: (row) => `\\x${row.content.toString('hex')}` },
  { name: 'encoding', type: 'text', value: (row) => row.encoding },
  { name: 'twins_before', type: 'integer', value: (row) => row.twinsBefore },
];

const STATEMENT = insertStatement('quarantine', COLUMNS);

/** Sets bytes or records aside. What another run of the same job has set aside stays as it is. */
export async function insertQuarantine(trx: Trx, rows: readonly NewQuarantined[]): Promise<void> {
  if (rows.length > 0) await insertRows(trx, STATEMENT, COLUMNS, rows);
}
