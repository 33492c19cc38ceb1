import { CompiledQuery, sql } from 'kysely';
import { MESSAGE_TYPES, type MessageType, type Origin } from '../../events/domain.ts';
import { FIELDS, SENT_TYPE, tableOf } from '../../events/message-types.ts';
import { CopyData, type CopyLines } from '../server/postgres-copy.ts';
import type { Db, Trx } from '../server/database.ts';
import { COPY_DELIVERIES, deliveryLine, type NewDelivery } from '../deliveries/deliveries.ts';
import {
  arrayLiteral,
  compareStatement,
  copyLine,
  copyStatement,
  insertRows,
  insertStatement,
  type Column,
} from './insert-rows.ts';
import { allRows, run } from '../server/statement.ts';

/** One event to be stored: every value in the text form that Postgres reads for its type. */
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
  /** Which of the delivery's events it is, from 0 on. */
  readonly place: number;
  /** JSON text. */
  readonly payload: string;
  /** The message type's typed columns, in the order of its `FIELDS`. */
  readonly values: readonly (string | null)[];
}

const ENVELOPE: readonly Column<EventRow>[] = [
  { name: 'event_id', type: 'uuid', value: (row) => row.eventId },
  { name: 'delivery_id', type: 'uuid', value: (row) => row.deliveryId },
  { name: 'source', type: 'text', value: (row) => row.source },
  { name: 'message_type', type: 'text', value: (row) => row.messageType },
  { name: 'occurred_at', type: 'timestamptz', value: (row) => row.occurredAt },
  { name: 'received_at', type: 'timestamptz', value: (row) => row.receivedAt },
  { name: 'owner_id', type: 'bigint', value: (row) => row.ownerId },
  { name: 'org_id', type: 'bigint', value: (row) => row.orgId },
  { name: 'origin', type: 'text', value: (row) => row.origin },
  { name: 'place', type: 'integer', value: (row) => String(row.place) },
  { name: 'payload', type: 'jsonb', value: (row) => row.payload },
];

/** The columns of a message type's own. */
const typedColumns = (messageType: MessageType) =>
  FIELDS[messageType].map(({ column, kind }, index): Column<Pick<EventRow, 'values'>> => ({
    name: column,
    type: kind.replace('key', 'text'),
    value: ({ values }) => values[index] ?? null,
  }));

interface Insert {
  readonly columns: readonly Column<EventRow>[];
  readonly statement: string;
  readonly copy: string;
}

/** The columns of each message type, and its statements for INSERT and for COPY. */
const INSERTS = new Map<MessageType, Insert>(
  MESSAGE_TYPES.map((messageType) => {
    const columns = [...ENVELOPE, ...typedColumns(messageType)];
    const table = tableOf(messageType);
    const statement = insertStatement(table, columns, 'returning delivery_id, event_id');
    return [messageType, { columns, statement, copy: copyStatement(table, columns) }];
  }),
);

function insertOf(messageType: MessageType): Insert {
  const insert = INSERTS.get(messageType);
  if (insert === undefined) throw new Error(`no table for ${messageType}`);
  return insert;
}

/**
 * Begins to store. The first statement of every transaction that stores, before any savepoint: those who follow the
 * events wait for it from then on.
 */
export async function beginStoring(trx: Trx): Promise<void> {
  await run(trx)`select begin_storing()`;
}

/**
 * All transactions insert events in the order of this, so that two with the same events cannot deadlock. It is the order
 * of the primary key, in which an index grows with least work: COPY alone, by event id, took a tenth more of the server.
 */
export const orderOf = ({ occurredAt, eventId }: EventRow): string => occurredAt + eventId;

/**
 * Inserts any number of events of one message type by one statement. An event that is stored already is skipped. `written`:
 * the delivery id of each row written. `dropped`: events that something in the database drops.
 */
export async function insertEvents(trx: Trx, messageType: MessageType, rows: readonly EventRow[]) {
  const insert = insertOf(messageType);
  const ordered = rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const written = await insertRows<EventRow, { delivery_id: string; event_id: string }>(
    trx,
    insert.statement,
    insert.columns,
    ordered,
  );
  return {
    written: written.map((row) => row.delivery_id),
    dropped: written.length === rows.length ? [] : await findDropped(trx, messageType, rows, written),
  };
}

/** A row that is not written is a duplicate only if its event is there. */
async function findDropped(
  trx: Trx,
  messageType: MessageType,
  rows: readonly EventRow[],
  written: readonly { readonly event_id: string }[],
): Promise<readonly EventRow[]> {
  const ids = new Set(written.map((row) => row.event_id));
  const skipped = rows.filter(({ eventId }) => !ids.has(eventId));
  const found = await allRows<{ event_id: string }>(trx)`
    select event_id from ${sql.table(tableOf(messageType))} as row join unnest(
      ${arrayLiteral(skipped.map(({ eventId }) => eventId))}::uuid[],
      ${arrayLiteral(skipped.map(({ occurredAt }) => occurredAt))}::timestamptz[]) as one (event_id, occurred_at)
      using (event_id, occurred_at) where row.message_type = ${messageType}`;
  const stored = new Set(found.map((row) => row.event_id));
  return skipped.filter(({ eventId }) => !stored.has(eventId));
}

/** What the payload of a stored event says that its columns contain. */
export interface DerivedColumns extends Pick<
  EventRow,
  'eventId' | 'occurredAt' | 'ownerId' | 'orgId' | 'values'
> {
  /** The time that the row has, as Postgres prints it. */
  readonly storedAt: string;
}

const KEYS: readonly Column<DerivedColumns>[] = [
  { name: 'event_id', type: 'uuid', value: (row) => row.eventId },
  { name: 'occurred_at', type: 'timestamptz', value: (row) => row.storedAt },
];

const DERIVED: readonly Column<DerivedColumns>[] = [
  { name: 'occurred_at', type: 'timestamptz', value: (row) => row.occurredAt },
  { name: 'owner_id', type: 'bigint', value: (row) => row.ownerId },
  { name: 'org_id', type: 'bigint', value: (row) => row.orgId },
];

/** Finds stored events of one message type whose columns are not what their payloads say, with the names of these columns. */
export async function findUnderived(db: Db, messageType: MessageType, rows: readonly DerivedColumns[]) {
  // No record contains the type as sent.
  const typed = typedColumns(messageType).filter(({ name }) => name !== SENT_TYPE.column);
  const statement = compareStatement(tableOf(messageType), KEYS, [...DERIVED, ...typed]);
  const arrays = [...KEYS, ...DERIVED, ...typed].map(({ value }) => arrayLiteral(rows.map(value)));
  const { rows: found } = await db.executeQuery<{ event_id: string; columns: string[] }>(
    CompiledQuery.raw(statement, [...arrays, ...boundsOf(rows)]),
  );
  return found.map(({ event_id: eventId, columns }) => ({ eventId, columns }));
}

/** The first and the last time of rows, in epoch seconds; all time if one of them cannot be read. */
function boundsOf(rows: readonly DerivedColumns[]): readonly number[] {
  const times = rows.map(({ storedAt }) => Date.parse(storedAt));
  if (times.some(Number.isNaN)) return [-Infinity, Infinity];
  // Postgres has microseconds.
  return [Math.min(...times) / 1000, (Math.max(...times) + 1) / 1000];
}

/** An event as a line of the data for `copyDeliveries`. */
export const eventLine = (event: EventRow): string => copyLine(insertOf(event.messageType).columns, event);

/**
 * Stores deliveries with the lines of all their events by `orderOf`, in its own transaction that takes one round trip. Throws,
 * and stores nothing, if one of the deliveries or events is already stored, or occurs twice among these.
 */
export async function copyDeliveries(
  db: Db,
  deliveries: readonly NewDelivery[],
  events: ReadonlyMap<MessageType, CopyLines>,
): Promise<void> {
  const statements = ['select begin_storing()'];
  const data: CopyData[] = [];
  for (const messageType of MESSAGE_TYPES) {
    const lines = events.get(messageType);
    if (lines === undefined) continue;
    statements.push(insertOf(messageType).copy);
    data.push(lines.takeSorted());
  }
  statements.push(COPY_DELIVERIES);
  data.push(new CopyData(Buffer.from(deliveries.map(deliveryLine).join(''))));
  await db.executeQuery(CompiledQuery.raw(statements.join('; '), data));
  for (const one of data) one.release();
}
