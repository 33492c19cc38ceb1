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
  const parts = selectsOf(familyQueries(scope, filter), timeConditions(filter), (family) => {
    const column = columnOf(family, facet);
    return column && sql`${column} as value`;
  });
  if (parts.length === 0) return { values: [], isComplete: true };
  const [value, group] =
    facet === 'user' ? [sql`min(value)`, sql`fold_name(value)`] : [sql`value::text`, sql`value`];
  const rows = await allRowsWithin<FacetValues['values'][number]>(db, TIMEOUT_MS)`
      select ${value} as value, count(*)::float8 as count from (${unionAll(parts)}) as found where value is not null
      group by ${group} order by 2 desc, 1 limit ${limit}`;
  const values = (rows ?? []).map(({ value, count }) => ({ value: wordOf(facet, value), count }));
  return { values, isComplete: rows !== undefined };
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
