import { closestName } from '../lib/text/closest-name.ts';
import { FAMILIES, FAMILY_OF, MESSAGE_TYPES, ORIGINS, type MessageType } from './domain.ts';
import { macDigits, parseMacAddress, writeMac } from './mac-address.ts';
import { actionOf, kindsNamed, RECORD_KINDS, typeAllowsKinds } from './record-kind.ts';

/** The keys of a search. docs/searching.md describes the grammar. */
const KEYS = [
  'type',
  'user',
  'client',
  'ap',
  'mac',
  'ssid',
  'device',
  'code',
  'org',
  'source',
  'origin',
  'action',
  'outcome',
  'text',
] as const;

export type SearchKey = (typeof KEYS)[number];

/** A value of a term; a prefix matches every value that begins with it. */
export interface SearchValue {
  readonly text: string;
  readonly isPrefix: boolean;
  /** The name or id of a device as it is spelled, which the indexes find; case counts. A search line has none. */
  readonly isExact?: boolean;
}

/** A condition of a search: one of the values matches, or none does if the term is excluded. Case is ignored. */
export interface SearchTerm {
  readonly key: SearchKey;
  readonly values: readonly SearchValue[];
  readonly isExcluded: boolean;
}

/** A condition on the text of a column: one of the patterns matches; `*` matches any characters. Case is ignored. */
export interface ColumnTerm {
  readonly key: 'column';
  readonly column: string;
  readonly patterns: readonly string[];
}

export type EventTerm = SearchTerm | ColumnTerm;

/** What is wrong with a term, and how it is probably meant. */
interface WrongTerm {
  readonly problem: string;
  readonly repair?: string | undefined;
}

/**
 * The terms of a search, all of which must hold; or why its text is not a search, with the terms that are right, the text
 * of the others, and how the first of those is probably meant.
 */
export type ParsedSearch =
  | { readonly terms: readonly SearchTerm[]; readonly problem?: undefined }
  | (WrongTerm & {
      readonly terms?: undefined;
      readonly right: readonly SearchTerm[];
      readonly wrong: string;
    });

const isSearchKey = (name: string): name is SearchKey => KEYS.some((key) => key === name);

/** A token: an optional minus, an optional key, and values separated by commas, quoted or not. */
const VALUE = String.raw`(?:"(?:[^"\\]|\\.)*"\*?|[^\s",]+)`;
const TOKEN = new RegExp(String.raw`\s*(-?)(?:([a-z_]+):)?(${VALUE}(?:,${VALUE})*)(?=\s|$)`, 'iuy');

/**
 * Parses the text of a search: `user:dina* -type:location ap:c4:13* "any text"`. A MAC address in any notation is a term
 * of its own, and any other word is a text that the record contains.
 */
export function parseSearch(text: string): ParsedSearch {
  const terms: SearchTerm[] = [];
  const wrong: (WrongTerm & { readonly text: string })[] = [];
  const written = text.trimEnd();
  const token = new RegExp(TOKEN);
  let at = 0;
  while (at < written.length) {
    const rest = written.slice(at).trimStart();
    const [whole, minus = '', name, value = ''] = token.exec(written) ?? [];
    if (whole === undefined) {
      wrong.push({ text: rest, problem: incomplete(rest) });
      break;
    }
    at = token.lastIndex;
    const term = toTerm(minus === '-', name?.toLowerCase(), value);
    if ('problem' in term) wrong.push({ ...term, text: whole.trim() });
    else terms.push(term);
  }
  const [first] = wrong;
  if (first === undefined) return { terms };
  const { problem, repair } = first;
  return { problem, repair, right: terms, wrong: wrong.map((one) => one.text).join(' ') };
}

const incomplete = (text: string) =>
  `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}" is incomplete: close the quotes, or add a value`;

function toTerm(isExcluded: boolean, name: string | undefined, written: string): SearchTerm | WrongTerm {
  const whole = name === undefined ? written : `${name}:${written}`;
  const address = parseMacAddress(whole);
  if (address !== undefined) {
    return { key: 'mac', values: [{ text: address, isPrefix: false }], isExcluded };
  }
  if (name === undefined && KEYS.some((key) => written === `${key}:`))
    return { problem: incomplete(written) };
  if (name === undefined) return { key: 'text', values: [unquoted(written, false)], isExcluded };
  if (!isSearchKey(name)) {
    const closest = closestName(name, KEYS);
    const hint = closest === undefined ? `known are ${KEYS.join(', ')}.` : `did you mean "${closest}"?`;
    const problem = `"${name}" is not a key; ${hint} Put text with a colon in quotes`;
    return { problem, repair: closest && `${isExcluded ? '-' : ''}${closest}:${written}` };
  }
  const values = [...written.matchAll(new RegExp(VALUE, 'gu'))].map(([one]) =>
    unquoted(one, name !== 'text'),
  );
  const problem = values.map((value) => problemOf(name, value)).find((one) => one !== undefined);
  if (problem !== undefined) return { problem };
  return { key: name, values: values.map((value) => normalized(name, value)), isExcluded };
}

function unquoted(written: string, canBePrefix: boolean): SearchValue {
  const isPrefix = canBePrefix && written.endsWith('*');
  const text = isPrefix ? written.slice(0, -1) : written;
  return {
    text: text.startsWith('"') ? text.replace(/^"|"$/g, '').replaceAll(/\\(.)/g, '$1') : text,
    isPrefix,
  };
}

const isAddressKey = (key: SearchKey) => key === 'client' || key === 'ap' || key === 'mac';

function problemOf(key: SearchKey, { text, isPrefix }: SearchValue): string | undefined {
  const about = `${key}:${text}${isPrefix ? '*' : ''}`;
  if (text.includes('\0')) return `${key} must not contain the character U+0000`;
  if (isAddressKey(key) && !isAddress(text, isPrefix)) {
    return `"${about}" must be a MAC address, or its first digits with *, such as ${key}:c4:13*`;
  }
  if ((key === 'code' || key === 'org') && (isPrefix || !isInt64(text))) {
    return `"${about}" must be a whole number`;
  }
  if (key === 'type' && typesNamed(text, isPrefix).length === 0) {
    return `"${about}" is not a message type or family; known are ${FAMILIES.join(', ')}, ${MESSAGE_TYPES.join(', ')}`;
  }
  if (key === 'action' && kindsNamed(text, isPrefix).length === 0) {
    return `"${about}" is not an action; known are ${RECORD_KINDS.map(actionOf).join(', ')}`;
  }
  if (key === 'outcome' && (isPrefix || !OUTCOMES.includes(text.toLowerCase()))) {
    return `"${about}" is not an outcome; known are ${OUTCOMES.join(', ')}`;
  }
  if (key === 'origin' && (isPrefix || !ORIGINS.some((origin) => origin === text))) {
    return `"${about}" is not an origin; known are ${ORIGINS.join(', ')}`;
  }
  return undefined;
}

/** The outcomes that a search can select. */
const OUTCOMES: readonly string[] = ['success', 'failure'];

const isInt64 = (text: string) =>
  /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);

function normalized(key: SearchKey, value: SearchValue): SearchValue {
  if (!isAddressKey(key)) return value;
  return { ...value, text: writeMac(macDigits(value.text)) };
}

/** Whether a text is a MAC address, or the beginning of one if it is a prefix. */
const isAddress = (text: string, isPrefix: boolean) =>
  isPrefix ? /^[0-9a-f]{1,12}$/.test(macDigits(text)) : parseMacAddress(text) !== undefined;

/** The first and the last MAC address that a value of an address matches. */
export function addressRange({ text }: SearchValue): readonly [first: string, last: string] {
  const digits = macDigits(text);
  return [digits.padEnd(12, '0'), digits.padEnd(12, 'f')];
}

/** The message types that a value means: a family, a message type, the first words of one, or a prefix of those. */
export function typesNamed(text: string, isPrefix: boolean): readonly MessageType[] {
  const name = text.toLowerCase().replaceAll(/[-_ ]+/g, '_');
  const matches = (known: string) => known === name || (isPrefix && known.startsWith(name));
  return MESSAGE_TYPES.filter((type) => {
    const known = type.toLowerCase();
    return matches(known) || known.startsWith(`${name}_`) || matches(FAMILY_OF[type]);
  });
}

/** A term for exactly these values of a field: one of them, if there are several. */
export const exactTerm = (key: SearchKey, ...texts: readonly string[]): SearchTerm => ({
  key,
  values: texts.map((text) => ({ text, isPrefix: false, ...(key === 'device' && { isExact: true }) })),
  isExcluded: false,
});

/** The terms for exactly these values of some fields. A field without a value has none. */
export const exactTerms = (
  fields: Partial<Record<SearchKey, string | readonly string[] | undefined>>,
): readonly SearchTerm[] =>
  KEYS.map((key) => exactTerm(key, ...[fields[key] ?? []].flat())).filter(({ values }) => values.length > 0);

export const columnTerm = (column: string, patterns: readonly string[]): ColumnTerm => ({
  key: 'column',
  column,
  patterns,
});

/** The message types that events which meet the terms can have. */
export const typesOfTerms = (terms: readonly EventTerm[]): readonly MessageType[] =>
  MESSAGE_TYPES.filter((type) => terms.every((term) => typeAllows(type, term)));

function typeAllows(type: MessageType, term: EventTerm): boolean {
  if (term.key === 'column') return true;
  const { key, values, isExcluded } = term;
  if (key === 'code') return isExcluded || FAMILY_OF[type] === 'audit';
  if (key === 'action') {
    const kinds = values.flatMap(({ text, isPrefix }) => kindsNamed(text, isPrefix));
    return isExcluded || typeAllowsKinds(type, kinds);
  }
  return (
    key !== 'type' ||
    isExcluded !== values.some(({ text, isPrefix }) => typesNamed(text, isPrefix).includes(type))
  );
}

/** Whether an event of a source can meet a term. */
export const termAllowsSource = (term: EventTerm, source: string): boolean =>
  term.key !== 'source' ||
  term.isExcluded !==
    term.values.some(({ text, isPrefix }) => {
      const [name, value] = [source.toLowerCase(), text.toLowerCase()];
      return isPrefix ? name.startsWith(value) : name === value;
    });

/** The text of a search, which parses to the same terms. */
export const printSearch = (terms: readonly SearchTerm[]): string => terms.map(printTerm).join(' ');

function printTerm({ key, values, isExcluded }: SearchTerm): string {
  const [value] = values;
  const written =
    key === 'text' && values.length === 1 && value !== undefined
      ? quoted(value.text)
      : `${key}:${values.map(printValue).join(',')}`;
  return `${isExcluded ? '-' : ''}${written}`;
}

const printValue = ({ text, isPrefix }: SearchValue) =>
  `${/^[\p{L}\p{N}._@/:+-]+$/u.test(text) ? text : quoted(text)}${isPrefix ? '*' : ''}`;

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
