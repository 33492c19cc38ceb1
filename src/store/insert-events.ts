import { CompiledQuery } from 'kysely';
import type { MessageType, Origin } from '../domain.ts';
import { FIELDS, tableOf } from '../message-types.ts';
import type { FieldKind } from '../message-types.ts';
import type { Trx } from './database.ts';

/** One event, ready to be stored: every value in the text form that Postgres reads for its type. */
export interface EventRow {
  readonly eventId: string;
  readonly deliveryId: string;
  readonly source: string;
  readonly messageType: MessageType;
  readonly occurredAt: string;
  readonly receivedAt: string;
  readonly ownerId: string | null;
  readonly orgId: string | null;
  readonly origin: Origin;
  /** JSON text. */
  readonly payload: string;
  /** The message type's typed columns, in the order of its `FIELDS`. */
  readonly values: readonly (string | null)[];
}

const ENVELOPE: readonly {
  column: string;
  kind: FieldKind | 'uuid';
  value: (row: EventRow) => string | null;
}[] = [
  { column: 'event_id', kind: 'uuid', value: (row) => row.eventId },
  { column: 'delivery_id', kind: 'uuid', value: (row) => row.deliveryId },
  { column: 'source', kind: 'text', value: (row) => row.source },
  { column: 'message_type', kind: 'text', value: (row) => row.messageType },
  { column: 'occurred_at', kind: 'timestamptz', value: (row) => row.occurredAt },
  { column: 'received_at', kind: 'timestamptz', value: (row) => row.receivedAt },
  { column: 'owner_id', kind: 'bigint', value: (row) => row.ownerId },
  { column: 'org_id', kind: 'bigint', value: (row) => row.orgId },
  { column: 'origin', kind: 'text', value: (row) => row.origin },
  { column: 'payload', kind: 'jsonb', value: (row) => row.payload },
];

const statements = new Map<MessageType, string>();

/**
 * Inserts events of one message type by one statement, whatever their number. An event that is there already
 * stays as it is. Returns the delivery id of each row written.
 */
export async function insertEvents(
  trx: Trx,
  messageType: MessageType,
  rows: readonly EventRow[],
): Promise<string[]> {
  // All transactions insert in one order, so that two that bring the same events cannot deadlock.
  const ordered = [...rows].sort((a, b) => (a.eventId < b.eventId ? -1 : 1));
  const columns = [
    ...ENVELOPE.map(({ value }) => ordered.map(value)),
    ...FIELDS[messageType].map((_, index) => ordered.map(({ values }) => values[index] ?? null)),
  ];
  let statement = statements.get(messageType);
  if (statement === undefined) {
    statement = insertStatement(messageType);
    statements.set(messageType, statement);
  }
  const query = CompiledQuery.raw(statement, columns);
  const result = await trx.executeQuery<{ delivery_id: string }>(query);
  return result.rows.map((row) => row.delivery_id);
}

function insertStatement(messageType: MessageType): string {
  const columns = [...ENVELOPE, ...FIELDS[messageType]];
  const names = columns.map(({ column }) => column).join(', ');
  const arrays = columns.map(({ kind }, index) => `$${index + 1}::${sqlType(kind)}[]`).join(', ');
  // Arrays of arrays would be flattened by unnest, so an array value travels as text.
  const selected = columns.map(({ column, kind }) =>
    kind.endsWith('[]') ? `${column}::${arrayType(kind)}` : column,
  );
  return `insert into ${tableOf(messageType)} (${names})
    select ${selected.join(', ')} from unnest(${arrays}) as rows (${names})
    on conflict (occurred_at, event_id) do nothing returning delivery_id`;
}

const sqlType = (kind: FieldKind | 'uuid') => (kind === 'key' || kind.endsWith('[]') ? 'text' : kind);

const arrayType = (kind: FieldKind | 'uuid') => (kind === 'key[]' ? 'text[]' : kind);
