import { sql } from 'kysely';
import { MESSAGE_TYPES, typesOfFamily, type Family, type MessageType } from '../domain.ts';
import { canBe, codesOf } from '../record-kind.ts';
import { addressRange, kindsNamed, typesNamed } from '../search-query.ts';
import type { SearchKey, SearchTerm, SearchValue } from '../search-query.ts';
import { anyOf, contains, literalPattern, type Condition } from './condition.ts';
import { kindOfRow, outcomeOfRow } from './event-kinds.ts';

/** The column of the user name; some families have none. */
export function userColumn(family: Family): Condition | undefined {
  if (family === 'audit') return sql`user_name`;
  return family === 'log' ? sql`username` : undefined;
}

/** Whether the family has columns of clients, access points and networks. */
export const hasStations = (family: Family) => family === 'location' || family === 'log';

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
    conditions.push(isExcluded ? sql`${anyOf(matches)} is not true` : anyOf(matches));
  }
  return conditions;
}

/** The alternatives of a value on one family's table; none if the table lacks such a column. */
function matchesOf(
  family: Family,
  key: Exclude<SearchKey, 'type'>,
  value: SearchValue,
): readonly Condition[] {
  switch (key) {
    case 'user': {
      const name = userColumn(family);
      return name === undefined ? [] : [textMatches(name, value)];
    }
    case 'client':
      return hasStations(family) ? [addressMatches(sql`client_mac`, value)] : [];
    case 'ap':
      return hasStations(family) ? [addressMatches(sql`ap_mac`, value)] : [];
    case 'mac':
      return [...matchesOf(family, 'client', value), ...matchesOf(family, 'ap', value)];
    case 'ssid':
      return hasStations(family) ? [textMatches(sql`left(ssid, ${sql.lit(64)})`, value)] : [];
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
    case 'action':
      return actionMatches(family, value);
    case 'outcome': {
      const outcome = outcomeOfRow(family);
      return outcome === undefined ? [] : [sql`${outcome} = ${value.text.toLowerCase()}`];
    }
    case 'text':
      return [contains(value.text)];
  }
}

/** By code where the codes decide, so that their index serves it. */
function actionMatches(family: Family, { text, isPrefix }: SearchValue): readonly Condition[] {
  const kinds = kindsNamed(text, isPrefix);
  const types = typesOfFamily(family).filter((type) => canBe(type, kinds));
  if (types.length === 0) return [];
  const codes = codesOf(kinds);
  if (codes !== undefined) return [sql`code in (${sql.join(codes.map((code) => sql`${code}::bigint`))})`];
  return [sql`message_type in (${sql.join(types)}) and ${kindOfRow(family)} in (${sql.join(kinds)})`];
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
  return sql`lower(${column}) like lower(${`${literalPattern(text)}%`})`;
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
