import { sql } from 'kysely';
import { MESSAGE_TYPES, type Family, type MessageType } from '../domain.ts';
import {
  addressRange,
  typesNamed,
  type SearchKey,
  type SearchTerm,
  type SearchValue,
} from '../search-query.ts';
import { contains, type Condition } from './condition.ts';

/** The message types that the terms allow. */
export const typesOfTerms = (terms: readonly SearchTerm[]): readonly MessageType[] =>
  MESSAGE_TYPES.filter((type) =>
    terms.every(
      ({ key, values, isExcluded }) =>
        key !== 'type' ||
        isExcluded !== values.some(({ text, isPrefix }) => typesNamed(text, isPrefix).includes(type)),
    ),
  );

/** The terms as conditions on one family's table, without those on types; undefined if none of its rows can match. */
export function termConditions(
  family: Family,
  terms: readonly SearchTerm[],
): readonly Condition[] | undefined {
  const conditions: Condition[] = [];
  for (const { key, values, isExcluded } of terms) {
    if (key === 'type') continue;
    const matches = values.flatMap((value) => matchesOf(family, key, value));
    if (matches.length === 0) {
      if (isExcluded) continue;
      return undefined;
    }
    const any = sql`(${sql.join(matches, sql` or `)})`;
    conditions.push(isExcluded ? sql`${any} is not true` : any);
  }
  return conditions;
}

/** The alternatives of a value on one family's table; none if the table lacks such a column. */
function matchesOf(
  family: Family,
  key: Exclude<SearchKey, 'type'>,
  value: SearchValue,
): readonly Condition[] {
  const hasStations = family === 'location' || family === 'log';
  switch (key) {
    case 'user':
      if (family === 'audit') return [textMatches(sql`user_name`, value)];
      return family === 'log' ? [textMatches(sql`username`, value)] : [];
    case 'client':
      return hasStations ? [addressMatches(sql`client_mac`, value)] : [];
    case 'ap':
      return hasStations ? [addressMatches(sql`ap_mac`, value)] : [];
    case 'mac':
      return hasStations ? [addressMatches(sql`client_mac`, value), addressMatches(sql`ap_mac`, value)] : [];
    case 'ssid':
      return hasStations ? [textMatches(sql`left(ssid, ${sql.lit(64)})`, value)] : [];
    case 'device':
      return deviceMatches(family, value);
    case 'code':
      return family === 'audit' ? [sql`code = ${value.text}::bigint`] : [];
    case 'org':
      return [sql`org_id = ${value.text}::bigint`];
    case 'source':
      return [textMatches(sql`source`, value)];
    case 'origin':
      return [sql`origin = ${value.text}`];
    case 'text':
      return [contains(value.text)];
  }
}

function deviceMatches(family: Family, value: SearchValue): readonly Condition[] {
  switch (family) {
    case 'audit':
      return [sql`exists (select from unnest(host_names) as host where ${textMatches(sql`host`, value)})`];
    case 'log':
      return [textMatches(sql`device_serial_number`, value)];
    case 'alerts':
      return [textMatches(sql`alert_source_name`, value), textMatches(sql`alert_source_id`, value)];
    case 'location':
    case 'other':
      return [];
  }
}

/** In the form of the indexes of migration 0031. The null that a column may hold never matches. */
function textMatches(column: Condition, { text, isPrefix }: SearchValue): Condition {
  if (!isPrefix) return sql`lower(${column}) = lower(${text})`;
  return sql`lower(${column}) like lower(${`${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`})`;
}

function addressMatches(column: Condition, value: SearchValue): Condition {
  if (!value.isPrefix) return sql`${column} = ${value.text}::macaddr`;
  const [first, last] = addressRange(value);
  return sql`${column} between ${first}::macaddr and ${last}::macaddr`;
}

/** Whether an index serves one of the terms, on every table that can match. */
export const areIndexed = (terms: readonly SearchTerm[]): boolean =>
  terms.some(({ key, isExcluded }) => !isExcluded && INDEXED_KEYS.has(key));

const INDEXED_KEYS: ReadonlySet<SearchKey> = new Set(['user', 'client', 'ap', 'mac', 'ssid', 'code']);
