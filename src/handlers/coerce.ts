import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { MAC_SOURCE, SHORTENED_MAC, wholeMacDigits } from '../events/mac-address.ts';
import { isJsonObject, isRawNumber, type JsonObject } from '../events/exact-json.ts';
import type { Field, FieldKind } from '../events/message-types.ts';

/**
 * Reads a field from the first member with a value of the field's kind, in the text form that Postgres reads for it. Null
 * without such a value; the record itself stays whole in `payload`. `isFormer`: as earlier programs did, which knew fewer
 * notations of times and addresses.
 */
export function readField(object: JsonObject, { members, kind }: Field, isFormer = false): string | null {
  for (const member of members) {
    const value = object[member];
    if (value === undefined || value === null || !Object.hasOwn(object, member)) continue;
    const text = coerce(value, kind, isFormer);
    if (text !== null) return text;
  }
  return null;
}

function coerce(value: unknown, kind: FieldKind, isFormer: boolean): string | null {
  switch (kind) {
    case 'text':
      return toText(value);
    case 'key':
      return toKey(value);
    case 'key[]':
      return toArray(value, toKey);
    case 'bigint':
      return toBigint(value);
    case 'bigint[]':
      return toArray(value, toBigint);
    case 'boolean':
      return toBoolean(value);
    case 'double precision':
      return toDouble(value);
    case 'timestamptz':
      return toTimestamp(value, isFormer);
    case 'inet':
      return toInet(value, isFormer);
    case 'macaddr':
      return toMac(value, isFormer);
    case 'jsonb':
      return JSON.stringify(value);
  }
}

/** An index entry of Postgres ends at 2,704 bytes; 512 characters are 2,048 bytes at most. */
const MAX_KEY_LENGTH = 512;

function toText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function toKey(value: unknown): string | null {
  const text = toText(value);
  return text !== null && text.length <= MAX_KEY_LENGTH ? text : null;
}

const SPECIAL = /["\\]/;

/**
 * An array literal of Postgres, of the elements that are not null. Null when an element is of another kind. A single
 * value is an array of one.
 */
function toArray(value: unknown, toElement: (element: unknown) => string | null): string | null {
  const elements: unknown[] = Array.isArray(value) ? value : [value];
  const literals: string[] = [];
  for (const element of elements) {
    if (element === null) continue;
    const text = toElement(element);
    if (text === null) return null;
    literals.push(`"${SPECIAL.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text}"`);
  }
  return `{${literals.join(',')}}`;
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

const SCIENTIFIC = /^[+-]?\d+(?:\.\d*)?e\+?\d+$/i;

function toBigint(value: unknown): string | null {
  if (Number.isSafeInteger(value)) return String(value);
  const text = toText(value)?.trim() ?? '';
  // Java prints a whole double as "12.0", and from ten million up as "1.2345678E7".
  const digits = /^([+-]?\d{1,19})(?:\.0+)?$/.exec(text)?.[1];
  if (digits === undefined) return SCIENTIFIC.test(text) ? toSafeInteger(Number(text)) : null;
  const integer = BigInt(digits);
  return integer >= MIN_INT64 && integer <= MAX_INT64 ? String(integer) : null;
}

const toSafeInteger = (number: number) => (Number.isSafeInteger(number) ? String(number) : null);

function toBoolean(value: unknown): string | null {
  const text = toText(value)?.trim().toLowerCase();
  return text === 'true' || text === 'false' ? text : null;
}

function toDouble(value: unknown): string | null {
  const text = toText(value)?.trim() ?? '';
  // Number() reads "" and "0x10" as well.
  const number = /^[-+.\de]+$/i.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? String(number) : null;
}

/** In milliseconds, the years 1973 to 9999. A smaller number, down to 1973 in seconds, can only be seconds. */
const MIN_MILLISECONDS = 100_000_000_000;
const MAX_MILLISECONDS = 253_402_300_799_999;
const MIN_SECONDS = 100_000_000;

/** The year 1. Of earlier times, Postgres cannot read what `toISOString` prints. */
const FIRST_YEAR = Date.parse('0001-01-01T00:00:00Z');

function toTimestamp(value: unknown, isFormer: boolean): string | null {
  const text = toText(value)?.trim() ?? '';
  return readTime(text) ?? (isFormer ? null : readTime(usualTime(text)));
}

const isNumber = (text: string) => /^\d+(?:\.\d+)?$/.test(text) || SCIENTIFIC.test(text);

/**
 * A time in the usual notation. Others are micro- and nanoseconds, a leap second (whose place is the end of its minute), the
 * basic format of ISO 8601, and the name of the zone after its offset. Every pattern begins at the start: one that is tried
 * at each character would take quadratic time in what a sender makes up.
 */
function usualTime(text: string): string {
  if (isNumber(text)) {
    const number = Number(text);
    return String(Math.trunc(number / (number > 1_000 * MAX_MILLISECONDS ? 1_000_000 : 1_000)));
  }
  return text
    .replace(/^([^[]*(?:Z|[+-]\d\d(?::?\d\d)?))\[[^\]]+\]$/i, '$1')
    .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(?=\d\d)/i, '$1-$2-$3T$4:$5:')
    .replace(/^(.{16}):60(?:[.,]\d+)?/, '$1:59.999');
}

function readTime(text: string): string | null {
  if (isNumber(text)) return epochToTimestamp(Number(text));
  const iso =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*(Z|[+-]\d\d(?::?\d\d)?)?)?$/i.exec(text);
  if (iso === null) return null;
  const [, date, time = '00:00', zone = 'Z'] = iso;
  const offset =
    zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.length === 3 ? `${zone}:00` : zone;
  const milliseconds = Date.parse(`${date}T${time.replace(',', '.')}${offset.toUpperCase()}`);
  return isDay(date) ? printTime(milliseconds, FIRST_YEAR) : null;
}

/** Whether the calendar has the day: `Date` reads February 30 as March 2. */
function isDay(date = ''): boolean {
  const start = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(start) && new Date(start).toISOString().startsWith(date);
}

function printTime(milliseconds: number, earliest: number): string | null {
  const readable = milliseconds >= earliest && milliseconds <= MAX_MILLISECONDS;
  return readable ? printIso(milliseconds) : null;
}

let lastMinute = Number.NaN;
let lastPrinted = '';

/** As `toISOString`, which takes four times as long: most times are of the same minute as the one before. */
export function printIso(milliseconds: number): string {
  const minute = Math.floor(milliseconds / 60_000);
  if (minute !== lastMinute) lastPrinted = new Date(minute * 60_000).toISOString().slice(0, -7);
  lastMinute = minute;
  const digits = String(Math.floor(100_000 + milliseconds - minute * 60_000));
  return `${lastPrinted}${digits.slice(1, 3)}.${digits.slice(3)}Z`;
}

function epochToTimestamp(number: number): string | null {
  const milliseconds = number >= MIN_SECONDS && number < MIN_MILLISECONDS ? number * 1000 : number;
  return printTime(Math.round(milliseconds), MIN_MILLISECONDS);
}

/** An IPv4 address that is written as one of IPv6 (`::ffff:192.0.2.7`) is one of IPv4. */
function toInet(value: unknown, isFormer: boolean): string | null {
  if (typeof value !== 'string') return null;
  const address = value.trim().replace(/^([^%]*)%.*$/, '$1');
  if (isIP(address) === 0) return null;
  return !isFormer && /^[0:]+:ffff:/i.test(address) ? ipaddr.process(address).toString() : address;
}

/** A MAC address in any notation, also at the start of a station id ("AA-BB-CC-DD-EE-FF:SSID"). */
function toMac(value: unknown, isFormer: boolean): string | null {
  if (typeof value !== 'string') return null;
  const mac = (isFormer ? FORMER_MAC : LEADING_MAC).exec(value.trimStart())?.[1];
  return mac === undefined ? null : wholeMacDigits(mac);
}

/** Longer addresses, of eight pairs or four groups, are none. */
const EUI_64 = String.raw`(?:..([-:. _])(?:..\2){6}..|.{4}([-:. _])(?:.{4}\3){2}.{4})\s*$`;
const LEADING_MAC = new RegExp(
  String.raw`^((?!${EUI_64})${MAC_SOURCE}|${SHORTENED_MAC}(?=\s*$))(?![0-9a-f])`,
  'i',
);
const FORMER_MAC = /^([0-9a-f]{2}(?:[-:. ]?[0-9a-f]{2}){5})(?![0-9a-f])/i;

/**
 * Whether JSON text may contain what Postgres cannot store: neither text nor jsonb accepts U+0000 or half a surrogate
 * pair. JSON text has both as escapes. A match may also be a whole pair, or a backslash of the sender, which only costs
 * time.
 */
export function mayBeUnstorable(json: string): boolean {
  return /\\u(?:0000|d[89a-f])/i.test(json) || !json.isWellFormed();
}

/** The record in a form that Postgres can store: U+0000 and half surrogate pairs become U+FFFD, the replacement character. */
export function makeStorable(record: JsonObject): JsonObject {
  const members = Object.entries(record);
  return Object.fromEntries(members.map(([key, value]) => [replaceUnstorable(key), replaceInside(value)]));
}

export const replaceUnstorable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

function replaceInside(value: unknown): unknown {
  if (typeof value === 'string') return replaceUnstorable(value);
  if (Array.isArray(value)) return value.map(replaceInside);
  return isJsonObject(value) ? makeStorable(value) : value;
}
