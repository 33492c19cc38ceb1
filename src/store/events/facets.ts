import { sql } from 'kysely';
import type { Family } from '../../events/domain.ts';
import { actionOf, RECORD_KINDS } from '../../events/record-kind.ts';
import { unionAll, type Condition } from '../server/condition.ts';
import type { Db } from '../server/database.ts';
import { outcomeOfRow, kindOfRow } from './event-kinds.ts';
import { familyQueries, selectsOf, timeConditions } from './event-filter.ts';
import type { RangeFilter } from './event-histogram.ts';
import type { Scope } from '../server/scope.ts';
import { hasStations, userColumn } from './search-terms.ts';
import { allRowsWithin } from '../server/statement.ts';

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

export interface FacetValues {
  /** Most frequent first. */
  readonly values: readonly { readonly value: string; readonly count: number }[];
  /** Since when events are counted; undefined: not even the newest could be counted. */
  readonly since: Date | undefined;
  /** Whether that is the start of the range. */
  readonly isComplete: boolean;
}

/** How many milliseconds counting may take unless told otherwise: with the rest, a page has its facets in half a second. */
export const FACET_MS = 400;

/** The part of a range that is counted first, and how many times as long the next one is at most. */
const FIRST_PART = 1 / 64;
const GROWTH = 8;

/** A part that is hardly longer is not worth the time, unless it is everything. */
const LEAST_GROWTH = 1.5;

/** The part of the time that is left that the next count may be expected to take; counting everything may take all of it. */
const SAFE = 0.8;

/**
 * Counts the matching events by the values of a facet, and returns the most frequent values: of the whole range if that takes
 * `milliseconds` at most, else of its newest part that could be counted in this time.
 */
export async function countFacet(
  db: Db,
  scope: Scope,
  filter: RangeFilter,
  facet: Facet,
  limit: number,
  milliseconds = FACET_MS,
): Promise<FacetValues> {
  const queries = familyQueries(scope, filter);
  const [value, group] =
    facet === 'user' ? [sql`min(value)`, sql`fold_name(value)`] : [sql`value::text`, sql`value`];
  const count = async (since: Date, most: number) => {
    const parts = selectsOf(queries, timeConditions({ ...filter, since }), (family) => {
      const column = columnOf(family, facet);
      return column && sql`${column} as value`;
    });
    if (parts.length === 0) return [];
    const rows = await allRowsWithin<FacetValues['values'][number]>(db, most)`
      select ${value} as value, count(*)::float8 as count from (${unionAll(parts)}) as found where value is not null
      group by ${group} order by 2 desc, 1 limit ${limit}`;
    return rows?.map(({ value, count }) => ({ value: wordOf(facet, value), count }));
  };
  return countNewest(filter, milliseconds, count);
}

/** Counts ever longer parts of a range that end with it, until the next would take too long. */
async function countNewest(
  { since, until }: RangeFilter,
  milliseconds: number,
  count: (since: Date, most: number) => Promise<FacetValues['values'] | undefined>,
): Promise<FacetValues> {
  const end = performance.now() + milliseconds;
  let counted: FacetValues = { values: [], since: undefined, isComplete: false };
  let part = FIRST_PART;
  let base = 0;
  for (;;) {
    const began = performance.now();
    const from = part === 1 ? since : new Date(until.getTime() - part * (until.getTime() - since.getTime()));
    const values = await count(from, end - began);
    if (values === undefined) return counted;
    counted = { values, since: from, isComplete: part === 1 };
    const now = performance.now();
    const took = now - began;
    // What the first count took is a cost of each, however long its part is.
    const pace = Math.max(1, took - base) / (base === 0 ? part : part - FIRST_PART);
    base ||= took;
    const further = (end - now - took) / pace;
    const next = Math.min(part * GROWTH, part + further >= 1 ? 1 : part + further * SAFE);
    if (part === 1 || next < Math.min(1, part * LEAST_GROWTH)) return counted;
    part = next;
  }
}

/** The value as a search names it. */
const wordOf = (facet: Facet, value: string) =>
  facet === 'action'
    ? RECORD_KINDS.filter((kind) => kind === value)
        .map(actionOf)
        .join()
    : value;

/** The column of a facet, as it is in an index that can be counted instead of the rows; undefined if the family has none. */
function columnOf(family: Family, facet: Facet): Condition | undefined {
  switch (facet) {
    case 'type':
      return sql`message_type`;
    case 'action':
      return kindOfRow(family);
    case 'outcome':
      return outcomeOfRow(family);
    case 'user':
      return userColumn(family);
    case 'code':
      return family === 'audit' ? sql`code` : undefined;
    case 'ap':
      return hasStations(family) ? sql`ap_mac` : undefined;
    case 'client':
      return hasStations(family) ? sql`client_mac` : undefined;
    case 'ssid':
      return hasStations(family) ? sql`ssid` : undefined;
    case 'source':
      return sql`source`;
    case 'origin':
      return sql`origin`;
  }
}
