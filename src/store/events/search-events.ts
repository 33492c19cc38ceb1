import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, FAMILY_OF, type Family, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { withinTime, type Db } from '../server/database.ts';
import { unionAll } from '../server/condition.ts';
import { familyQueries, hasText, selectsOf, timeConditions, type EventFilter } from './event-filter.ts';
import { byTime, selectPage, slicesToSearch, type EventPage } from './event-pages.ts';
import { selectRows, toEvent, type StoredRow } from './event-rows.ts';
import { inScope, type Scope } from '../server/scope.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import { divide } from '../partitions/time-slices.ts';
import { firstRow } from '../server/statement.ts';

/** A text search divides each slice into this many parts and queries them in parallel, to use several processors. */
const PARTS_AT_ONCE = 4;

/** A page of a search. */
export interface FoundEvents {
  readonly events: readonly StoredEvent[];
  /** Whether the page is shorter than its limit because its payloads are long: others may follow. */
  readonly isCut: boolean;
}

/**
 * One page of the events that match. A page costs the same however far back it lies. Throws the database's error when
 * a code, an organization or a MAC address of the filter is invalid.
 */
export async function searchEvents(
  db: Db,
  scope: Scope,
  filter: EventFilter,
  page: EventPage,
): Promise<FoundEvents> {
  const order = page.order ?? 'newest';
  const queries = familyQueries(scope, filter);
  const found: StoredRow[] = [];
  let isCut = false;
  for await (const slice of slicesToSearch(db, queries, filter, { ...page, order })) {
    const limit = page.limit - found.length;
    const parts = hasText(filter) ? divide(slice, PARTS_AT_ONCE) : [slice];
    const pages = await Promise.all(
      parts.flatMap((part) =>
        queries.map((query) => selectPage(db, query, part, { limit, after: page.after, order })),
      ),
    );
    // What follows the last row of a page that was cut short may be missing.
    const [cut] = pages
      .flatMap(({ rows, next }) => (next === undefined ? [] : rows.slice(-1)))
      .toSorted(byTime(order));
    const rows = pages.flatMap((one) => one.rows).toSorted(byTime(order));
    const known = cut === undefined ? rows : rows.slice(0, rows.indexOf(cut) + 1);
    found.push(...known.slice(0, limit));
    isCut = cut !== undefined && found.length < page.limit;
    if (isCut || found.length >= page.limit) break;
  }
  const events: StoredEvent[] = [];
  const timeSlice = new TimeSlice();
  for (const row of found) {
    events.push(toEvent(row));
    if (timeSlice.isOver()) await timeSlice.rest();
  }
  return { events, isCut };
}

const FIND_TIMEOUT_MS = 5_000;

/**
 * One event by its id. With its time (to the millisecond), one partition is read; the message type spares looking into
 * the other tables. Without a time all partitions are searched, for at most 5 seconds per table. Undefined when the
 * event is not stored, or was not found within that time.
 */
export async function findEvent(
  db: Db,
  scope: Scope,
  eventId: string,
  occurredAt?: Date,
  messageType?: MessageType,
): Promise<StoredEvent | undefined> {
  const isEvent = sql`event_id = ${eventId}::uuid and ${inScope(scope)}`;
  for (const family of messageType === undefined ? FAMILIES : [FAMILY_OF[messageType]]) {
    const found =
      occurredAt === undefined
        ? await withinTime(db, FIND_TIMEOUT_MS, (trx) => selectOne(trx, family, isEvent))
        : await selectOne(
            db,
            family,
            sql`occurred_at >= ${occurredAt} and occurred_at < ${occurredAt}::timestamptz + interval '1 millisecond'
              and ${isEvent}`,
          );
    const row = found?.rows[0];
    if (row !== undefined) return toEvent(row);
  }
  return undefined;
}

const selectOne = (db: Db, family: Family, condition: RawBuilder<unknown>) =>
  selectRows(db, family, sql`${sql.table(TABLE_OF[family])} where ${condition} limit 1`, sql``);

const COUNT_TIMEOUT_MS = 1_500;

/** The number of events that match, counted up to a limit. Undefined when counting takes longer than 1.5 seconds. */
export async function countEventsUpTo(
  db: Db,
  scope: Scope,
  filter: EventFilter,
  limit: number,
): Promise<number | undefined> {
  const selects = selectsOf(familyQueries(scope, filter), timeConditions(filter), () => sql``);
  if (selects.length === 0) return 0;
  const parts = selects.map((select) => sql`(${select} limit ${limit})`);
  return withinTime(db, COUNT_TIMEOUT_MS, async (trx) => {
    const row = await firstRow<{ count: number }>(trx)`
      select count(*)::float8 as count
      from (select from (${unionAll(parts)}) as found limit ${limit}) as counted`;
    return row?.count ?? 0;
  });
}

/** The number of stored events of each message type that has any. Reads all events: not for large databases. */
export async function countEvents(db: Db, scope: Scope): Promise<ReadonlyMap<MessageType, number>> {
  const rows = await db
    .selectFrom('events')
    .select((eb) => ['message_type as messageType', eb.cast<number>(eb.fn.countAll(), 'float8').as('count')])
    .where(inScope(scope))
    .groupBy('message_type')
    .execute();
  return new Map(rows.map(({ messageType, count }) => [messageType, count]));
}

/** A search as one SQL statement, which readers may run: the events of the view `events` that match, newest first. */
export function searchStatement(db: Db, scope: Scope, filter: EventFilter): string {
  const columns = () => sql`event_id, occurred_at`;
  const found = selectsOf(familyQueries(scope, filter), timeConditions(filter), columns);
  const matching =
    found.length === 0
      ? sql`select event_id, occurred_at from events where false`
      : sql.join(found, sql`\n  union all\n  `);
  const statement = sql`select events.*
from (
  ${matching}
) as found
join events using (event_id, occurred_at)
order by occurred_at desc, event_id desc`;
  const { sql: text, parameters } = statement.compile(db);
  // Conditions that say nothing are no help to a reader.
  const plain = text.replaceAll(/ and true\b/g, '');
  return plain.replaceAll(/\$(\d+)/g, (_, number: string) => literalOf(parameters[Number(number) - 1]));
}

/** A parameter as an SQL literal; a search compares with texts, times, numbers, and arrays of them. */
function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `array[${value.map(literalOf).join(', ')}]`;
  if (value === null) return 'null';
  const text = value instanceof Date ? value.toISOString() : value;
  if (typeof text === 'number' || typeof text === 'boolean' || typeof text === 'bigint') return `${text}`;
  if (typeof text !== 'string') throw new TypeError(`a search cannot compare with ${typeof text}`);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
