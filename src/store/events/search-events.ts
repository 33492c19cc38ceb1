import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, FAMILY_OF, type Family, type MessageType } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { withinTime, type Db } from '../server/database.ts';
import { unionAll } from '../server/condition.ts';
import { familyQueries, hasText, selectsOf, timeConditions } from './event-filter.ts';
import type { EventFilter, FamilyQuery } from './event-filter.ts';
import { byTime, selectPage, slicesToSearch, type EventPage, type OrderedPage } from './event-pages.ts';
import { selectRows, toEvent, type StoredRow } from './event-rows.ts';
import { inScope, type Scope } from '../server/scope.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import { HttpError } from '../../lib/errors.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { divide, type EventOrder } from '../partitions/time-slices.ts';
import { firstRow } from '../server/statement.ts';

/** A text search divides each slice into this many parts and queries them in parallel, to use several processors. */
const PARTS_AT_ONCE = 4;

export interface FoundEvents {
  readonly events: readonly StoredEvent[];
  /** The time and id to continue after, if the page is short because payloads are long or time ran out. */
  readonly next: Pick<StoredEvent, 'occurredAt' | 'eventId'> | undefined;
}

export interface Search extends EventPage {
  /** The page is short if it takes longer. */
  readonly milliseconds?: number | undefined;
}

/** The first slice is short, and without it the search would never get on. */
const FIRST_SLICE_MS = 10_000;

/** Before all ids. */
const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * One page of the events that match. A page costs the same however far back it is. Throws the database's error when
 * a code, an organization or a MAC address of the filter is invalid, and HttpError if there are so many events that not even
 * the first hours could be searched in 10 s.
 */
export async function searchEvents(
  db: Db,
  scope: Scope,
  filter: EventFilter,
  { milliseconds = Infinity, ...page }: Search,
): Promise<FoundEvents> {
  const until = performance.now() + milliseconds;
  const order = page.order ?? 'newest';
  const queries = familyQueries(scope, filter);
  const found: StoredRow[] = [];
  let next: FoundEvents['next'];
  let isFirst = true;
  for await (const slice of slicesToSearch(db, queries, filter, { ...page, order })) {
    const left = Math.max(until - performance.now(), isFirst ? FIRST_SLICE_MS : 1);
    const limit = page.limit - found.length;
    const parts = partsOf(slice, filter, order);
    const searching = { ...page, order, limit, milliseconds: left };
    const { rows, ...searched } = await searchParts(db, queries, parts, searching);
    if (isFirst && searched.late !== undefined && searched.late === parts[0]) throw tooSlow(searched.late);
    isFirst = false;
    found.push(...rows.slice(0, limit));
    if (found.length >= page.limit) break;
    ({ next } = searched);
    if (next !== undefined) break;
  }
  return { events: await toEvents(found), next };
}

/** The parts of a slice that are searched at once, in the order of the search. */
function partsOf(slice: TimeRange, filter: EventFilter, order: EventOrder): readonly TimeRange[] {
  if (!hasText(filter)) return [slice];
  const parts = divide(slice, PARTS_AT_ONCE);
  return order === 'newest' ? parts.toReversed() : parts;
}

/**
 * Searches the parts of a slice, each for so long at most. Gives the rows up to where nothing is missing: the end of the
 * last part, a row after which its page was cut short, or the beginning of the first part that took too long, `late`.
 */
async function searchParts(
  db: Db,
  queries: readonly FamilyQuery[],
  parts: readonly TimeRange[],
  { milliseconds, ...page }: OrderedPage & { readonly milliseconds: number },
) {
  const searchOne = (part: TimeRange, query: FamilyQuery) =>
    milliseconds === Infinity
      ? selectPage(db, query, part, page)
      : withinTime(db, milliseconds, (trx) => selectPage(trx, query, part, page));
  const searched = await Promise.all(
    parts.map((part) => Promise.all(queries.map((query) => searchOne(part, query)))),
  );
  const late = parts[searched.findIndex((pages) => pages.includes(undefined))];
  const pages = searched
    .slice(0, late && parts.indexOf(late))
    .flatMap((one) => one.flatMap((it) => it ?? []));
  const byOrder = byTime(page.order);
  const [cut] = pages.flatMap((one) => (one.next === undefined ? [] : one.rows.slice(-1))).toSorted(byOrder);
  const all = pages.flatMap((one) => one.rows).toSorted(byOrder);
  const rows = cut === undefined ? all : all.slice(0, all.indexOf(cut) + 1);
  return { rows, late, next: cut ?? (late && beginningOf(late, page.order)) };
}

async function toEvents(rows: readonly StoredRow[]): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  const timeSlice = new TimeSlice();
  for (const row of rows) {
    events.push(toEvent(row));
    if (timeSlice.isOver()) await timeSlice.rest();
  }
  return events;
}

function beginningOf({ since, until }: TimeRange, order: EventOrder): FoundEvents['next'] {
  const time = order === 'newest' ? until : since;
  return time && { occurredAt: time.toISOString(), eventId: NO_ID };
}

const tooSlow = ({ since, until }: TimeRange) =>
  new HttpError(
    503,
    'SEARCH_TOO_SLOW',
    `the events from ${since?.toISOString() ?? 'the first'} to ${until?.toISOString() ?? 'the last'} could not be searched within 10 s: add a user, a device or an address, or choose a shorter time`,
  );

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
