/**
 * JSON in which no number loses a digit: the specification's ids are int64, beyond what a double holds.
 * A number that JavaScript would print differently is kept as the text that was sent (`JSON.rawJSON`), and
 * `JSON.stringify` writes that text back.
 */

/** A number kept as the text that was sent. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  // In Node.js since 22, not yet in TypeScript's library (ECMAScript proposal "JSON.parse source text access").
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/** A JSON object with exact numbers. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Matches numbers inside an object or array that might not survive `JSON.parse`: minus zero, 16 digits or more, an
 * exponent, a trailing zero after the point, tiny fractions. It may also match inside a string, which only costs time.
 * Without a match the plain parser is exact, and takes 1.5 us, compared to 5 us with the reviver (a 300-byte audit record).
 */
const MAY_LOSE_DIGITS =
  /[:[,]\s*(?:-0|-?\d(?:[\d.]{15,}|\d*(?:\.(?:\d*0|000000\d*)|(?:\.\d*)?[eE][+-]?\d+)))[\s,}\]]/;

/** Beyond these limits a Postgres numeric overflows, or a number fills pages: it becomes a string. */
export const MAX_EXPONENT = 1_000;
const MAX_DIGITS = 1_000;

/** Whether a value is a number kept as its own text. */
export function isRawNumber(value: unknown): value is RawNumber {
  return JSON.isRawJSON(value);
}

/** Whether a value is a JSON object (not an array, not null, not a number kept as text). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Parses JSON text with exact numbers. Throws a SyntaxError as `JSON.parse` does. */
export function parseExactJson(text: string): unknown {
  const isExact = /^\s*[[{]/.test(text) && !MAY_LOSE_DIGITS.test(text);
  const value: unknown = isExact ? JSON.parse(text) : JSON.parse(text, exactNumber);
  return value;
}

/** Texts up to this length are parsed in one step, in a millisecond. */
const LARGE_TEXT = 128 * 1024;

/**
 * Parses the text of a JSON array element by element, with exact numbers, so that a large array neither fills the
 * memory nor blocks the event loop. Throws a SyntaxError, possibly after some elements, when the text is not an array.
 */
export function* parseElements(text: string): Generator {
  if (text.length > LARGE_TEXT) {
    for (const element of elementTexts(text)) yield parseExactJson(element);
    return;
  }
  const elements = parseExactJson(text);
  if (!Array.isArray(elements)) throw new SyntaxError('the text is not a JSON array');
  yield* elements;
}

/** The texts between the outermost brackets and commas; the parser checks that each is JSON. */
export const elementTexts = (text: string): Generator<string> => partTexts(text, '[', ']');

/** The same of an object: its members, each with its name. */
export const memberTexts = (text: string): Generator<string> => partTexts(text, '{', '}');

function* partTexts(text: string, open: '[' | '{', close: ']' | '}'): Generator<string> {
  let depth = 0;
  let start = 0;
  let end = -1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = endOfString(text, at);
    else if (character === '[' || character === '{') {
      if (depth === 0 && start > 0) throw new SyntaxError('the text contains more than one JSON value');
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (character === ',' && depth === 1) {
      yield text.slice(start, at);
      start = at + 1;
    } else if (character === ']' || character === '}') {
      depth -= 1;
      if (depth === 0) end = at;
    }
  }
  const outside = text.slice(0, text.indexOf(open)) + text.slice(end);
  if (depth !== 0 || outside.trim() !== close)
    throw new SyntaxError(`the text is not between ${open} and ${close}`);
  const last = text.slice(start, end);
  if (last.trim() !== '' || text.charAt(start - 1) === ',') yield last;
}

/** The end of the string that begins here: the next quote after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charAt(end - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  throw new SyntaxError('the text ends within a string');
}

/** A number with an exponent, in canonical JSON. */
const EXPONENT = /[:[,]-?\d[\d.]*[eE][+-]?(\d{1,4})(?=[,}\]])/g;

/**
 * The digits that numbers get where they are written out: Postgres, and with it each destination, prints 1e1000 with 1,001.
 * `canonical` is canonical JSON, or a part of it. Text in it that looks like such a number counts too.
 */
export function writtenOut(canonical: string): number {
  let digits = 0;
  for (const [, exponent] of canonical.matchAll(EXPONENT)) digits += Number(exponent);
  return digits;
}

function exactNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  const source = context.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  const exponent = /[eE]([+-]?\d+)$/.exec(source)?.[1];
  const storable = source.length <= MAX_DIGITS && Math.abs(Number(exponent ?? 0)) <= MAX_EXPONENT;
  return storable ? JSON.rawJSON(source) : source;
}

/** The same text for equal values: keys sorted by UTF-16 code units, no white space, numbers as sent. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return isRawNumber(value) ? value.rawJSON : `{${joinMembers(Object.values(value), sortMembers(value))}}`;
}

/** The canonical text of an object before and after the value of one of its members. */
export function canonicalAround(object: JsonObject, key: string): readonly [string, string] {
  const members = sortMembers(object);
  const values = Object.values(object);
  const at = members.findIndex((member) => member.key === key);
  const before = joinMembers(values, members.slice(0, at));
  return [`{${before}${members[at]?.label ?? ''}`, `${joinMembers(values, members.slice(at + 1))}}`];
}

/** A key of an object, the text before its value, and its place among the keys as sent. */
interface Member {
  readonly key: string;
  readonly label: string;
  readonly index: number;
}

function joinMembers(values: readonly unknown[], members: readonly Member[]): string {
  let text = '';
  for (const { label, index } of members) text += label + canonicalJson(values[index]);
  return text;
}

/** The keys of the last objects that have few and short ones, by the last key. Most records of a source have the same. */
const SORTED = new Map<string, { readonly keys: readonly string[]; readonly members: readonly Member[] }>();
const MAX_SORTED = 256;
const MAX_CHARACTERS = 4_096;

/** The keys of an object in canonical order. To sort and to quote them takes twice as long as all the rest. */
function sortMembers(object: object): readonly Member[] {
  const keys = Object.keys(object);
  const last = keys.at(-1) ?? '';
  const known = SORTED.get(last);
  if (known?.keys.length === keys.length && known.keys.every((key, index) => key === keys[index])) {
    return known.members;
  }
  const sorted = keys.map((key, index) => ({ key, index })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const label = (key: string, at: number) => `${at === 0 ? '' : ','}${JSON.stringify(key)}:`;
  const members = sorted.map(({ key, index }, at) => ({ key, index, label: label(key, at) }));
  if (keys.join('').length + keys.length <= MAX_CHARACTERS) {
    if (SORTED.size === MAX_SORTED) SORTED.clear();
    SORTED.set(last, { keys, members });
  }
  return members;
}
