import { sql } from 'kysely';
import type { Family } from '../domain.ts';
import { ACTION_OF_KIND } from '../event-words.ts';
import { TABLE_OF } from '../message-types.ts';
import { allOf, type Condition } from './condition.ts';
import { withinTime, type Db } from './database.ts';
import { outcomeOfRow, kindOfRow } from './event-kinds.ts';
import { familyQueries, timeConditions } from './event-filter.ts';
import type { RangeFilter } from './event-histogram.ts';
import type { Scope } from './scope.ts';

/** What the events of a search can be counted by. */
export const FACETS = [
  'type',
  'action',
  'outcome',
  'user',
  'code',
  'ap',
  'client',
  'ssid',
  'source',
  'origin',
] as const;

export type Facet = (typeof FACETS)[number];

/** A value and the number of events with it. */
interface FacetValue {
  readonly value: string;
  readonly count: number;
}

/** The most frequent values of a facet. */
export interface FacetValues {
  /** Most frequent first. */
  readonly values: readonly FacetValue[];
  /** False if counting took longer than two seconds: there are then no values. */
  readonly isComplete: boolean;
}

const TIMEOUT_MS = 2_000;

/** Counts the matching events by the values of a facet, and returns the most frequent values. */
export async function countFacet(
  db: Db,
  scope: Scope,
  filter: RangeFilter,
  facet: Facet,
  limit: number,
): Promise<FacetValues> {
  const range = timeConditions(filter);
  const parts = familyQueries(scope, filter).flatMap(({ family, conditions, branches }) => {
    const column = columnOf(family, facet);
    if (column === undefined) return [];
    return branches.map(
      ({ condition }) => sql`
        select ${column} as value from ${sql.table(TABLE_OF[family])}
        where ${allOf([...conditions, ...range, condition, sql`${column} is not null`])}`,
    );
  });
  if (parts.length === 0) return { values: [], isComplete: true };
  const rows = await withinTime(db, TIMEOUT_MS, async (trx) => {
    const found = await sql<FacetValue>`
      select value, count(*)::float8 as count from (${sql.join(parts, sql` union all `)}) as found
      group by value order by 2 desc, 1 limit ${limit}`.execute(trx);
    return found.rows;
  });
  const values = (rows ?? []).map(({ value, count }) => ({ value: wordOf(facet, value), count }));
  return { values, isComplete: rows !== undefined };
}

/** The value as a search names it. */
const wordOf = (facet: Facet, value: string) =>
  (facet === 'action' ? new Map<string, string>(ACTION_OF_KIND).get(value) : undefined) ?? value;

/** The column of a facet as text; undefined if the family has none. */
function columnOf(family: Family, facet: Facet): Condition | undefined {
  const hasStations = family === 'location' || family === 'log';
  switch (facet) {
    case 'type':
      return sql`message_type`;
    case 'action':
      return kindOfRow(family);
    case 'outcome':
      return outcomeOfRow(family);
    case 'user':
      if (family === 'audit') return sql`user_name`;
      return family === 'log' ? sql`username` : undefined;
    case 'code':
      return family === 'audit' ? sql`code::text` : undefined;
    case 'ap':
      return hasStations ? sql`ap_mac::text` : undefined;
    case 'client':
      return hasStations ? sql`client_mac::text` : undefined;
    case 'ssid':
      return hasStations ? sql`ssid` : undefined;
    case 'source':
      return sql`source`;
    case 'origin':
      return sql`origin`;
  }
}
