import { sql } from 'kysely';
import { FAMILY_OF, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import { exactTerms, typesOfTerms, type EventTerm } from '../../events/search-query.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import type { Db } from '../server/database.ts';
import { allOf, anyOf, unionAll, type Condition } from '../server/condition.ts';
import { familyQueries, timeConditions, type FamilyQuery } from '../events/event-filter.ts';
import { toEvent } from '../events/event-rows.ts';
import { columnText, termConditions } from '../events/search-terms.ts';
import { rowsByTime } from '../partitions/rows-by-time.ts';
import type { TimeRange, WholeRange } from '../../lib/text/parse-time.ts';
import type { Scope } from '../server/scope.ts';
import { allRows, run } from '../server/statement.ts';

/** What must come together in a time span before a rule can raise an alert. */
export interface RuleGroups {
  /** The columns that the rule groups by, beside the source. */
  readonly columns: readonly string[];
  /** Milliseconds. */
  readonly within: number;
  /** So many milliseconds after an alert, its group may be quiet. */
  readonly quiet: number;
  readonly least:
    | { readonly events: number }
    | { readonly values: number; readonly of: string }
    /** The distance of two places. */
    | { readonly metres: number };
}

export interface RuleSearch extends WholeRange {
  readonly source?: string | undefined;
  /** The terms of one of them must hold. */
  readonly filters: readonly (readonly EventTerm[])[];
  readonly groups?: RuleGroups | undefined;
}

/** A page of few events among many costs as much as reading all of them, so it is large. */
const ROWS_AT_ONCE = 10_000;

/**
 * Reads the events on which a rule may raise an alert, by time: all that do, and some that do not. With groups, Postgres
 * looks for those in which enough came together, and only their events are read. Throws the signal's reason once it fired.
 */
export async function* readRuleEvents(
  db: Db,
  scope: Scope,
  search: RuleSearch,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent> {
  const queries = ruleQueries(scope, search);
  for (const { since, until, queries: ofSpan } of await spansToRead(db, queries, search)) {
    const options = { order: 'oldest', rowsAtOnce: ROWS_AT_ONCE, signal } as const;
    for await (const rows of rowsByTime(db, ofSpan, { since, until }, options)) {
      for (const row of rows) yield toEvent(row);
    }
  }
}

type Reading = WholeRange & { readonly queries: readonly FamilyQuery[] };

async function spansToRead(
  db: Db,
  queries: readonly FamilyQuery[],
  { since, until, groups }: RuleSearch,
): Promise<readonly Reading[]> {
  if (groups === undefined) return [{ since, until, queries }];
  const isKnown = (column: string) => queries.every(({ family }) => columnText(family, column) !== 'unknown');
  const known = { ...groups, columns: groups.columns.filter(isKnown) };
  const spans = await findSpans(db, queries, { since, until }, known);
  if (spans === undefined) return [{ since, until, queries }];
  return spans.map((span) => ({
    since: new Date(span.since),
    until: new Date(span.until),
    queries: queries.flatMap((query) => ofGroups(query, known.columns, [...span.groups.values()]) ?? []),
  }));
}

const ruleQueries = (scope: Scope, { source, filters }: RuleSearch): readonly FamilyQuery[] =>
  familyQueries(scope, { terms: exactTerms({ source }) }).flatMap((query) => {
    const any = filters.flatMap((terms) => {
      const types = typesOfTerms(terms).filter((type) => FAMILY_OF[type] === query.family);
      const conditions = types.length === 0 ? undefined : termConditions(query.family, terms);
      return conditions === undefined
        ? []
        : [sql`(${allOf([sql`message_type = any(${types}::text[])`, ...conditions])})`];
    });
    return any.length === 0 ? [] : [{ ...query, conditions: [...query.conditions, anyOf(any)] }];
  });

/** A time slice in epoch milliseconds, and the groups in which enough came together in it. */
interface Span {
  readonly since: number;
  until: number;
  /** By their JSON text: the source and the values of the group's columns. */
  readonly groups: Map<string, readonly string[]>;
}

/** Beyond this many groups and times, all events are read. */
const MOST_FOUND = 100_000;

/** Spans that lie close to each other are joined until there are not more. */
const MOST_SPANS = 500;

/** Memory for counting, as Postgres writes it. */
const WORK_MEM = '256MB';

/**
 * Finds where enough came together. Time is cut twice into pieces of twice the rule's time span, the second time by one
 * time span later, so that whatever comes together is whole in some piece. Undefined: too often to be of use.
 */
async function findSpans(
  db: Db,
  queries: readonly FamilyQuery[],
  range: WholeRange,
  groups: RuleGroups,
): Promise<readonly Span[] | undefined> {
  const found = await rowsToCount(db, queries, range, groups);
  if (found === undefined) return [];
  const pieces = [0, groups.within].map((offset) => enoughIn(found, groups, offset));
  const enough = await count<{ begin: Date; names: string[] }>(
    db,
    sql`select begin, names from (${unionAll(pieces)}) as pieces order by begin`,
  );
  if (enough === undefined) return undefined;
  const [first, end] = [range.since.getTime(), range.until.getTime()];
  const spans = enough.map(({ begin, names }) => ({
    since: Math.max(begin.getTime(), first),
    until: Math.min(begin.getTime() + 2 * groups.within + groups.quiet, end),
    groups: new Map([[JSON.stringify(names), names]]),
  }));
  return joinSpans(spans, (end - first) / MOST_SPANS);
}

/** The rows of a query that counts. Undefined: too many. */
async function count<T>(db: Db, counting: Condition): Promise<readonly T[] | undefined> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (trx) => {
      await run(trx)`select set_config('work_mem', ${WORK_MEM}, true)`;
      const rows = await allRows<T>(trx)`${counting} limit ${MOST_FOUND + 1}`;
      return rows.length > MOST_FOUND ? undefined : rows;
    });
}

/**
 * The rows to count, as SQL; undefined if there are none. Few clients are ever far from where they were, so this is queried
 * first for the whole range: 4 s instead of 18 s for 7,000,000 places.
 */
async function rowsToCount(db: Db, queries: readonly FamilyQuery[], range: TimeRange, groups: RuleGroups) {
  const rowsOf = (given: readonly FamilyQuery[]) => {
    const rows = given.flatMap((query) => rowsOfFamily(query, range, groups) ?? []);
    return rows.length === 0 ? undefined : sql`(${unionAll(rows)}) as found`;
  };
  const all = rowsOf(queries);
  if (all === undefined || !('metres' in groups.least)) return all;
  const keys = keysOf(groups);
  const far = await count<{ names: string[] }>(
    db,
    sql`select array[${keys}]::text[] as names from ${all} group by ${keys} having ${isEnough(groups.least)}`,
  );
  if (far === undefined) return all;
  const names = far.map((one) => one.names);
  return rowsOf(queries.flatMap((query) => ofGroups(query, groups.columns, names) ?? []));
}

/** The source and the columns of the group, in the rows to count. */
const keysOf = ({ columns }: RuleGroups) =>
  sql.join([sql`source`, ...columns.map((_, index) => sql.ref(`g${index}`))]);

/** The values of the group's columns, as rules compare them. Undefined if the family lacks one. */
function keysIn(family: Family, columns: readonly string[]): readonly Condition[] | undefined {
  const texts = columns.flatMap((column) => columnText(family, column) ?? []);
  return texts.length < columns.length ? undefined : texts.map((text) => sql`fold(${text})`);
}

/** The rows of a family to count: when, whose, and what. Undefined if they lack the value. */
function rowsOfFamily(
  { family, conditions, branches }: FamilyQuery,
  range: TimeRange,
  { columns, least }: RuleGroups,
): Condition | undefined {
  const keys = keysIn(family, columns);
  const value = 'of' in least ? columnText(family, least.of) : sql`null`;
  const hasPlaces = family === 'location';
  if (keys === undefined || value === undefined || ('metres' in least && !hasPlaces)) return undefined;
  const parts = branches.map((branch) => sql`(${branch})`);
  const selected = [
    sql`source`,
    sql`occurred_at`,
    ...keys.map((key, index) => sql`${key} as ${sql.ref(`g${index}`)}`),
    sql`${value === 'unknown' ? sql`event_id` : value} as value`,
    ...('metres' in least ? [sql`lat`, sql`lng`] : []),
  ];
  return sql`select ${sql.join(selected)} from ${sql.table(TABLE_OF[family])}
    where ${allOf([...conditions, ...timeConditions(range), anyOf(parts)])}`;
}

/** The groups and the pieces of time, the first beginning at an offset in milliseconds, in which enough came together. */
function enoughIn(found: Condition, groups: RuleGroups, offset: number): Condition {
  const { within, least } = groups;
  const piece = sql`make_interval(secs => ${(2 * within) / 1_000}::float8)`;
  const begin = sql`date_bin(${piece}, occurred_at, ${new Date(offset)}::timestamptz) as begin`;
  const keys = keysOf(groups);
  const counted =
    'of' in least ? sql`(select distinct ${keys}, ${begin}, value from ${found}) as found` : found;
  return sql`select ${'of' in least ? sql`begin` : begin}, array[${keys}]::text[] as names from ${counted}
    group by ${keys}, begin having ${isEnough(least)}`;
}

/** Rounded up. */
const METRES_PER_DEGREE = 111_200;

function isEnough(least: RuleGroups['least']): Condition {
  if ('events' in least) return sql`count(*) >= ${least.events}`;
  if ('of' in least) return sql`count(*) >= ${least.values}`;
  // No way over the sphere is longer than over a plane of degrees.
  const degrees = sql`sqrt((max(lat) - min(lat)) ^ 2 + (max(lng) - min(lng)) ^ 2)`;
  return sql`${degrees} * ${METRES_PER_DEGREE}::float8 >= ${least.metres}::float8`;
}

/** Joins spans, ordered by time, that overlap or are at most this many milliseconds apart. */
function joinSpans(spans: readonly Span[], gap: number): readonly Span[] {
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last === undefined || span.since > last.until + gap) {
      joined.push(span);
      continue;
    }
    last.until = Math.max(last.until, span.until);
    for (const [key, names] of span.groups) last.groups.set(key, names);
  }
  return joined;
}

/** A query for the events of these groups alone. Undefined if its family has none. */
function ofGroups(
  query: FamilyQuery,
  columns: readonly string[],
  groups: readonly (readonly string[])[],
): FamilyQuery | undefined {
  const keys = keysIn(query.family, columns);
  if (keys === undefined) return undefined;
  const lists = [sql`source`, ...keys].map((_, index) => sql`${groups.map((names) => names[index])}::text[]`);
  const isOne = sql`(${sql.join([sql`source`, ...keys])}) in (select * from unnest(${sql.join(lists)}))`;
  return { ...query, conditions: [...query.conditions, isOne] };
}
