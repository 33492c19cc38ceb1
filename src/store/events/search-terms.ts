import { sql } from 'kysely';
import { fold, foldParts } from '../../lib/text/fold.ts';
import { typesOfFamily, type Family } from '../../events/domain.ts';
import { codesOf, kindsNamed, typeAllowsKinds } from '../../events/record-kind.ts';
import {
  addressRange,
  type ColumnTerm,
  type EventTerm,
  type SearchKey,
  type SearchValue,
} from '../../events/search-query.ts';
import { anyOf, literalPattern, type Condition } from '../server/condition.ts';
import { kindOfRow, outcomeOfRow } from './event-kinds.ts';
import { asText, COLUMNS_OF } from './event-rows.ts';

/** The column of the user name; some families have none. */
export function userColumn(family: Family): Condition | undefined {
  if (family === 'audit') return sql`user_name`;
  return family === 'log' ? sql`username` : undefined;
}

/** Whether the family has columns of clients, access points and networks. */
export const hasStations = (family: Family) => family === 'location' || family === 'log';

/** The terms as conditions on one family's table, without those on types; undefined if none of its rows can match. */
export function termConditions(
  family: Family,
  terms: readonly EventTerm[],
): readonly Condition[] | undefined {
  const conditions: Condition[] = [];
  for (const term of terms) {
    if (term.key === 'type') continue;
    const { key } = term;
    const matches =
      key === 'column'
        ? columnMatches(family, term)
        : term.values.flatMap((value) => matchesOf(family, key, value));
    const isExcluded = key !== 'column' && term.isExcluded;
    if (matches.length > 0) conditions.push(isExcluded ? sql`${anyOf(matches)} is not true` : anyOf(matches));
    else if (!isExcluded) return undefined;
  }
  return conditions;
}

/** A term for one MAC address as a branch for each index that finds it, in the order of time. Undefined for other terms. */
export function branchesOf(family: Family, term: EventTerm): readonly Condition[] | undefined {
  if (term.key !== 'mac' || term.isExcluded || !hasStations(family)) return undefined;
  const [value, another] = term.values;
  if (value === undefined || value.isPrefix || another !== undefined) return undefined;
  const client = addressMatches(sql`client_mac`, value);
  return [client, sql`${addressMatches(sql`ap_mac`, value)} and (${client}) is not true`];
}

/** Whether the index that finds the rows of a family is not in the order of time. */
export const isUnordered = (family: Family, terms: readonly EventTerm[]): boolean =>
  family === 'audit' && terms.some((term) => term.key === 'device' && isServed(term));

/** The alternatives of a value on one family's table; none if the table lacks such a column. */
function matchesOf(
  family: Family,
  key: Exclude<SearchKey, 'type'>,
  value: SearchValue,
): readonly Condition[] {
  switch (key) {
    case 'user': {
      const name = userColumn(family);
      return name === undefined ? [] : [personMatches(name, value)];
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
      if (outcome === undefined) return value.text === 'unknown' ? [sql`true`] : [];
      return [sql`coalesce(${outcome}, 'unknown') = ${value.text.toLowerCase()}`];
    }
    case 'text':
      return [contains(value.text)];
  }
}

/** By code where the codes decide, so that their index serves it. */
function actionMatches(family: Family, { text, isPrefix }: SearchValue): readonly Condition[] {
  const kinds = kindsNamed(text, isPrefix);
  const types = typesOfFamily(family).filter((type) => typeAllowsKinds(type, kinds));
  if (types.length === 0) return [];
  const codes = codesOf(kinds);
  if (codes !== undefined) return [sql`code in (${sql.join(codes.map((code) => sql`${code}::bigint`))})`];
  return [sql`message_type in (${sql.join(types)}) and ${kindOfRow(family)} in (${sql.join(kinds)})`];
}

const MAX_INT64 = 2n ** 63n - 1n;

function deviceMatches(family: Family, value: SearchValue): readonly Condition[] {
  const { text, isExact = false } = value;
  const matches = (column: Condition) => (isExact ? sql`${column} = ${text}` : textMatches(column, value));
  switch (family) {
    case 'audit': {
      if (!isExact) return [sql`exists (select from unnest(host_names) as host where ${matches(sql`host`)})`];
      const byName = sql`host_names @> array[${text}]::text[]`;
      if (!/^\d{1,19}$/.test(text) || BigInt(text) > MAX_INT64) return [byName];
      return [byName, sql`device_ids @> array[${text}]::bigint[]`];
    }
    case 'log':
      return [matches(sql`device_serial_number`)];
    case 'alerts':
      return [matches(sql`alert_source_name`), matches(sql`alert_source_id`)];
    case 'location':
    case 'other':
      return [];
  }
}

/** The rows whose column one of the patterns matches; none if the family has no such column. */
function columnMatches(family: Family, { column, patterns }: ColumnTerm): readonly Condition[] {
  const text = columnText(family, column);
  if (text === 'unknown') return [sql`true`];
  const like = patterns.map((pattern) => foldParts(pattern).map(literalPattern).join('%'));
  return text === undefined ? [] : [sql`fold(${text}) like any (${like}::text[])`];
}

/** The columns of the view `events` that have other names in the tables. */
const VIEWED: Readonly<Record<string, readonly string[]>> = {
  user_name: ['user_name', 'username'],
  description: ['description', 'summary'],
};

/** A column as events contain it, as text; undefined: the family has none; 'unknown': only the event shows it. */
export function columnText(family: Family, column: string): Condition | 'unknown' | undefined {
  if (column === 'message_type') return sql`message_type`;
  if (column === 'time_of_day') return 'unknown';
  const names = VIEWED[column] ?? [column];
  const stored = COLUMNS_OF[family].filter((field) => names.includes(field.column));
  if (stored.length === 0) return undefined;
  const texts = stored.map((field) =>
    field.kind.endsWith('[]') ? sql`array_to_string(${asText(field)}, ' ')` : asText(field),
  );
  return sql`coalesce(${sql.join(texts)}, null)`;
}

/** In the form of the indexes of the migrations. The null that a column may hold never matches. */
function textMatches(column: Condition, { text, isPrefix }: SearchValue): Condition {
  if (!isPrefix) return sql`lower(${column}) = lower(${text})`;
  return sql`lower(${column}) like lower(${`${literalPattern(text)}%`})`;
}

/** In the form of the indexes, too: it is a person whose name is written so, or begins so. */
const personMatches = (column: Condition, { text, isPrefix }: SearchValue): Condition =>
  isPrefix
    ? sql`fold_name(${column}) like ${`${literalPattern(fold(text))}%`}`
    : sql`fold_name(${column}) = fold_name(${text})`;

function addressMatches(column: Condition, value: SearchValue): Condition {
  if (!value.isPrefix) return sql`${column} = ${value.text}::macaddr`;
  const [first, last] = addressRange(value);
  return sql`${column} between ${first}::macaddr and ${last}::macaddr`;
}

/** Whether an index serves one of the terms, on every table that can match. */
export const areIndexed = (terms: readonly EventTerm[]): boolean => terms.some(isServed);

const isServed = (term: EventTerm): boolean =>
  term.key !== 'column' &&
  !term.isExcluded &&
  (INDEXED_KEYS.has(term.key) || (term.key === 'device' && term.values.every(({ isExact }) => isExact)));

const INDEXED_KEYS: ReadonlySet<SearchKey> = new Set(['user', 'client', 'ap', 'mac', 'ssid', 'code']);

/**
 * Whether the record contains a text, ignoring case.
 *
 * ASCII text is compared byte by byte, which avoids the rules of a language and, without letters, the conversion to
 * lower case. The result is the same, except that only those rules treat the Kelvin sign as a K.
 */
function contains(text: string): Condition {
  const isAscii = Buffer.byteLength(text) === text.length;
  if (!isAscii) return sql`payload::text ilike ${`%${literalPattern(text)}%`}`;
  const lower = text.toLowerCase();
  if (lower === text.toUpperCase()) return sql`strpos(payload::text collate "C", ${text}) > 0`;
  return sql`strpos(lower(payload::text collate "C"), ${lower}) > 0`;
}
