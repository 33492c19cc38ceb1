import { sql, type RawBuilder } from 'kysely';
import {
  FAMILY_OF,
  MESSAGE_TYPES,
  typesOfFamily,
  type Family,
  type MessageType,
} from '../../events/domain.ts';
import { isJsonObject, parseExactJson } from '../../events/exact-json.ts';
import { FIELDS, type Field } from '../../events/message-types.ts';
import type { Db } from '../server/database.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import { fittingRows } from '../server/fitting-rows.ts';
import { allRows } from '../server/statement.ts';

/** The row of an event: every value as text, nothing parsed. */
export interface StoredRow extends Omit<StoredEvent, 'columns' | 'payload' | 'family'> {
  /** Its position in the log, if the caller selected it; else -1. */
  readonly position: number;
  /** JSON text. */
  readonly payload: string;
  /** The family's typed columns, in the order of `COLUMNS_OF`. */
  readonly [column: `c${number}`]: string | string[] | null;
}

export interface FirstRows {
  readonly rows: readonly StoredRow[];
  /** The position of the first row that is left out, because those before it are all that fits; undefined if all were read. */
  readonly next: number | undefined;
}

/**
 * Reads the first rows of a family's table. `from` is the SQL after that keyword, with the table's column names, and `ordered` its
 * ORDER BY. `wanted` limits the typed columns that are read; `position` is the SQL for the position in the log.
 */
export async function selectRows(
  db: Db,
  family: Family,
  from: RawBuilder<unknown>,
  ordered: RawBuilder<unknown>,
  wanted?: ReadonlySet<string>,
  position = sql`-1`,
): Promise<FirstRows> {
  const typed = COLUMNS_OF[family].flatMap((field, index) =>
    wanted === undefined || wanted.has(field.column)
      ? [sql`, ${asText(field)} as ${sql.ref(`c${index}`)}`]
      : [],
  );
  const rows = await allRows<StoredRow & { readonly next: number | null }>(db)`
    select next, id::text, ${position}::float8 as position, event_id as "eventId", delivery_id as "deliveryId", source,
           message_type as "messageType", ${isoTime('occurred_at')} as "occurredAt",
           ${isoTime('received_at')} as "receivedAt", owner_id::text as "ownerId", org_id::text as "orgId",
           origin, payload::text as payload ${sql.join(typed, sql``)}
    from ${fittingRows(from, ordered, position)}`;
  return { rows, next: rows.at(-1)?.next ?? undefined };
}

/** A typed column as events contain it, as text or an array of texts. */
export function asText({ column, kind }: Field): RawBuilder<unknown> {
  switch (kind) {
    case 'timestamptz':
      return isoTime(column);
    case 'inet':
      // A cast to text would also print the mask of a single host.
      return sql`abbrev(${sql.ref(column)})`;
    case 'key[]':
    case 'bigint[]':
      return sql`${sql.ref(column)}::text[]`;
    case 'text':
    case 'key':
    case 'bigint':
    case 'boolean':
    case 'double precision':
    case 'macaddr':
    case 'jsonb':
      return sql`${sql.ref(column)}::text`;
  }
}

/** A time in ISO 8601, in UTC with milliseconds. */
const isoTime = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Every typed column of a family's table, once. */
export const COLUMNS_OF: Readonly<Record<Family, readonly Field[]>> = {
  audit: columnsOf('audit'),
  location: columnsOf('location'),
  log: columnsOf('log'),
  alerts: columnsOf('alerts'),
  other: columnsOf('other'),
};

function columnsOf(family: Family): readonly Field[] {
  const fields = typesOfFamily(family).flatMap((type) => FIELDS[type]);
  return [...new Map(fields.map((field) => [field.column, field])).values()];
}

/** The positions of a message type's columns among those of its family. */
const PLACES: ReadonlyMap<MessageType, readonly (readonly [string, `c${number}`])[]> = new Map(
  MESSAGE_TYPES.map((type) => {
    const names = COLUMNS_OF[FAMILY_OF[type]].map(({ column }) => column);
    return [type, FIELDS[type].map(({ column }) => [column, `c${names.indexOf(column)}` as const] as const)];
  }),
);

/** The typed columns of a row's message type. */
export function columnsOfRow(row: StoredRow): StoredEvent['columns'] {
  const columns: Record<string, string | readonly string[] | null> = {};
  for (const [name, place] of PLACES.get(row.messageType) ?? []) columns[name] = row[place] ?? null;
  return columns;
}

/** The event of a row. Throws a TypeError when the payload is not a JSON object; such a row is never stored. */
export function toEvent(row: StoredRow): StoredEvent {
  const payload = parseExactJson(row.payload);
  if (!isJsonObject(payload)) throw new TypeError(`event ${row.eventId}: its payload is not a JSON object`);
  const { id, eventId, deliveryId, source, messageType, occurredAt, receivedAt } = row;
  const { ownerId, orgId, origin } = row;
  return {
    id,
    eventId,
    deliveryId,
    source,
    messageType,
    family: FAMILY_OF[messageType],
    occurredAt,
    receivedAt,
    ownerId,
    orgId,
    origin,
    columns: columnsOfRow(row),
    payload,
  };
}
