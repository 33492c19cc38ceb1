import { sql } from 'kysely';
import { FAMILY_OF } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { typesOfTerms } from '../../events/search-query.ts';
import type { Db } from '../server/database.ts';
import { allOf, anyOf, rowByKey } from '../server/condition.ts';
import { familyQueries, timeConditions, type EventFilter, type FamilyQuery } from './event-filter.ts';
import { selectRows, toEvent, type FirstRows, type StoredRow } from './event-rows.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Log, LogEntry } from '../log/read-log.ts';
import { isInScope, type Scope } from '../server/scope.ts';
import type { LoggedEvent } from '../../events/stored-event.ts';

/** A slice of the log: in its order, the events that match a filter. */
export interface LogSlice {
  /** Can be iterated once. Events are created on demand: all at once would delay the ingest answers. */
  readonly events: Iterable<LoggedEvent>;
  /** The position where the next slice begins; undefined when this one is empty. */
  readonly end: number | undefined;
  /** Whether more events may follow at once: the slice is as long as the limit allows, or as its payloads do. */
  readonly isFull: boolean;
}

/**
 * Reads the next `limit` events from a position on, in the order of the log, and returns those that match the filter.
 * Reading continues at `end`, even if no event matched. Rows are read only of the types of the filter and the sources of the scope;
 * those that retention has dropped are left out.
 */
export async function readSlice(
  log: Log,
  scope: Scope,
  position: number,
  limit: number,
  filter: EventFilter = {},
): Promise<LogSlice> {
  const entries = await log.read(position, limit);
  const last = entries.at(-1);
  if (last === undefined) return { events: [], end: undefined, isFull: false };
  const types = typesOfTerms(filter.terms ?? []);
  const wanted = entries.filter(
    (entry) => types.includes(entry.messageType) && isInScope(scope, entry.source),
  );
  const { rows, next } = await readRows(log.db, scope, wanted, filter);
  const byPosition = rows.toSorted((a, b) => a.position - b.position);
  const isFull = next !== undefined || entries.length === limit;
  return { events: toEvents(byPosition), end: next ?? last.position + 1, isFull };
}

/** Reads the first rows of these entries that match the filter, in any order. Those of erased events are left out. */
export async function readRows(
  db: Db,
  scope: Scope,
  entries: readonly LogEntry[],
  filter: EventFilter = {},
): Promise<FirstRows> {
  const stored = entries.filter((entry): entry is StoredEntry => entry.occurredAt !== null);
  const queries = familyQueries(scope, filter);
  const families = await Promise.all(queries.map((query) => readRowsOf(db, query, stored, filter)));
  const next = families.reduce((min, one) => Math.min(min, one.next ?? min), Infinity);
  const rows = families.flatMap((one) => one.rows.filter(({ position }) => position < next));
  return { rows, next: next === Infinity ? undefined : next };
}

interface StoredEntry extends LogEntry {
  readonly occurredAt: string;
}

async function readRowsOf(
  db: Db,
  query: FamilyQuery,
  entries: readonly StoredEntry[],
  filter: EventFilter,
): Promise<FirstRows> {
  const ofFamily = entries.filter(({ messageType }) => FAMILY_OF[messageType] === query.family);
  if (ofFamily.length === 0) return { rows: [], next: undefined };
  const times = ofFamily.map(({ occurredAt }) => occurredAt);
  const [from, to] = daysAround(times);
  const isWanted = sql`occurred_at = logged_at and event_id = logged_id
    and occurred_at between ${from}::timestamptz and ${to}::timestamptz
    and ${allOf([...conditionsOf(query), ...timeConditions(filter)])}`;
  return selectRows(
    db,
    query.family,
    sql`unnest(
        ${ofFamily.map(({ position }) => position)}::bigint[], ${times}::timestamptz[],
        ${ofFamily.map(({ eventId }) => eventId)}::uuid[]
      ) as entry (position, logged_at, logged_id)
      cross join ${rowByKey(TABLE_OF[query.family], isWanted)} as row`,
    sql`order by position`,
    undefined,
    sql`position`,
  );
}

/** Days that contain all of these times, as Postgres prints them: with them, the server looks into their months alone. */
function daysAround(times: readonly string[]): readonly [from: string, to: string] {
  const ms = times.map((time) => Date.parse(time.replace(' ', 'T').replace(/[+-]\d\d$/, '$&:00')));
  const [from, to] = [Math.min(...ms) - DAY_MS, Math.max(...ms) + DAY_MS];
  const isUsual = from > Date.UTC(1) && to < Date.UTC(9999);
  return isUsual ? [new Date(from).toISOString(), new Date(to).toISOString()] : ['-infinity', 'infinity'];
}

function* toEvents(rows: readonly StoredRow[]): Generator<LoggedEvent> {
  for (const row of rows) yield toLoggedEvent(row);
}

export const toLoggedEvent = (row: StoredRow): LoggedEvent => ({ ...toEvent(row), position: row.position });

const conditionsOf = ({ conditions, branches }: FamilyQuery) => [
  ...conditions,
  anyOf(branches.map((branch) => sql`(${branch})`)),
];
