import { parseMacAddress } from '../../events/mac-address.ts';
import { isIP } from 'node:net';
import { parseExactJson } from '../../events/exact-json.ts';
import { FIELDS, type FieldKind } from '../../events/message-types.ts';

/** The content of a fact: a text, or several. */
export type Fact = string | readonly string[];

/**
 * Reads a fact as a value of the field's type. Undefined if the fact has no such value: receivers reject an event for
 * one wrong value, and the fact is still in the payload.
 */
export type Reading<T = unknown> = (fact: Fact) => T | undefined;

/** A text; the elements of a list are joined with commas. */
export const text = (fact: Fact): string => (typeof fact === 'string' ? fact : fact.join(','));

/** A list; a text becomes a list of one. */
export const list = (fact: Fact): readonly string[] => (typeof fact === 'string' ? [fact] : fact);

export const addresses: Reading<readonly string[]> = (fact) => {
  const valid = list(fact).filter((address) => isIP(address) !== 0);
  return valid.length === 0 ? undefined : valid;
};

export const verbatim = (fact: Fact): Fact => fact;

export const digits: Reading<string> = (fact) => {
  if (!/^-?\d{1,19}$/.test(text(fact))) return undefined;
  const exact = BigInt(text(fact));
  return BigInt.asIntN(64, exact) === exact ? String(exact) : undefined;
};

const isInt32 = (value: string) => BigInt.asIntN(32, BigInt(value)) === BigInt(value);

export const shortDigits: Reading<string> = (fact) => {
  const exact = digits(fact);
  return exact !== undefined && isInt32(exact) ? exact : undefined;
};

export const longDigits: Reading<string> = (fact) => {
  const exact = digits(fact);
  return exact === undefined || isInt32(exact) ? undefined : exact;
};

/** An int64 as a JSON number with all its digits. */
export const integer: Reading = (fact) => {
  const exact = digits(fact);
  if (exact === undefined) return undefined;
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : JSON.rawJSON(exact);
};

export const decimal: Reading<number> = (fact) => {
  const number = Number(text(fact));
  return text(fact).trim() !== '' && Number.isFinite(number) ? number : undefined;
};

export const truth: Reading<boolean> = (fact) => fact === 'true' || (fact === 'false' ? false : undefined);

export const seconds =
  (unitsPerSecond: number): Reading<number> =>
  (fact) => {
    const units = (decimal(fact) ?? -1) * unitsPerSecond;
    return Number.isSafeInteger(units) && units >= 0 ? units : undefined;
  };

/** Anything else is not a time, although `Date.parse` finds a year in nearly any text. */
const DATE = /^\d{4}-\d\d-\d\d[T ]/;

/** Epoch milliseconds from ISO 8601 and from the form that Postgres prints ("2026-01-31 08:00:00.123+00"). */
export const milliseconds: Reading<number> = (fact) => {
  const written = text(fact);
  if (!DATE.test(written)) return undefined;
  const iso = written.endsWith('Z') ? written : written.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
  const epoch = Date.parse(iso);
  return Number.isNaN(epoch) ? undefined : epoch;
};

/** The last time that was read: a fact can go to two members, and all records of a delivery arrived at once. */
let lastTime: { readonly fact: Fact; readonly iso: string | undefined } | undefined;

/** ISO 8601 in UTC with milliseconds. */
export const time: Reading<string> = (fact) => {
  if (lastTime?.fact === fact) return lastTime.iso;
  const epoch = milliseconds(fact);
  const iso = epoch === undefined ? undefined : new Date(epoch).toISOString();
  lastTime = { fact, iso };
  return iso;
};

export const mac: Reading<string> = (fact) => parseMacAddress(text(fact));

export const dashedMac: Reading<string> = (fact) => mac(fact)?.replaceAll(':', '-').toUpperCase();

const addressOf =
  (...versions: number[]): Reading<string> =>
  (fact) =>
    versions.includes(isIP(text(fact))) ? text(fact) : undefined;

export const ip = addressOf(4, 6);
export const ipv4 = addressOf(4);
export const ipv6 = addressOf(6);

export const firstIpv6: Reading<string> = (fact) => list(fact).find((address) => isIP(address) === 6);

/** The value of a JSON text; any other text stays a text. */
export const json: Reading = (fact) => {
  try {
    return parseExactJson(text(fact));
  } catch {
    return text(fact);
  }
};

/** The same value for every fact, for a member that accompanies another one. */
export const always =
  <T>(value: T): Reading<T> =>
  () =>
    value;

const READING_OF_KIND: Partial<Record<FieldKind, Reading>> = {
  bigint: integer,
  boolean: truth,
  'double precision': decimal,
  timestamptz: time,
};

/** By column, as in the first message type that has it. The only column with a second meaning is renamed (facts.ts). */
const readingOfColumn = new Map(
  Object.values(FIELDS)
    .flat()
    .map(({ column, kind }) => [column, READING_OF_KIND[kind] ?? verbatim] as const)
    .toReversed(),
);

/** How to read a fact without a mapping: numbers, times and truth values as such, anything else as text. */
export const unmappedReading = (fact: string): Reading => readingOfColumn.get(fact) ?? verbatim;
