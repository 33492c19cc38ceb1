import { sql } from 'kysely';
import { FAMILY_OF, MESSAGE_TYPES, type Family, type MessageType } from '../domain.ts';
import { canBe, codesOf } from '../record-kind.ts';
import {
  addressRange,
  kindsNamed,
  typesNamed,
  type SearchKey,
  type SearchTerm,
  type SearchValue,
} from '../search-query.ts';
import { contains, type Condition } from './condition.ts';
import { kindOfRow, outcomeOfRow } from './event-kinds.ts';

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
  const types = MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === family && canBe(type, kinds));
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
