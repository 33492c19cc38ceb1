import { isIP } from 'node:net';
import { parseExactJson } from '../../exact-json.ts';
import { FIELDS, type FieldKind } from '../../message-types.ts';
import type { Fact } from './facts.ts';

/**
 * Reads a fact as a value of the field's type. Undefined if the fact has no such value: receivers reject an event for
 * one wrong value, and the fact is still in the payload.
 */
export type Reading<T = unknown> = (fact: Fact) => T | undefined;

/** A text; the elements of a list are joined with commas. */
export const text = (fact: Fact): string => (typeof fact === 'string' ? fact : fact.join(','));

/** A list; a text becomes a list of one. */
export const list = (fact: Fact): readonly string[] => (typeof fact === 'string' ? [fact] : fact);

/** The valid addresses of a list. */
export const addresses: Reading<readonly string[]> = (fact) => {
  const valid = list(fact).filter((address) => isIP(address) !== 0);
  return valid.length === 0 ? undefined : valid;
};

/** A list or a text, unchanged. */
export const asTold = (fact: Fact): Fact => fact;

/** The digits of an int64. */
export const digits: Reading<string> = (fact) => {
  if (!/^-?\d{1,19}$/.test(text(fact))) return undefined;
  const exact = BigInt(text(fact));
  return BigInt.asIntN(64, exact) === exact ? String(exact) : undefined;
};

const isInt32 = (value: string) => BigInt.asIntN(32, BigInt(value)) === BigInt(value);

/** The digits of an int32. */
export const shortDigits: Reading<string> = (fact) => {
  const exact = digits(fact);
  return exact !== undefined && isInt32(exact) ? exact : undefined;
};

/** The digits of an int64 that is not an int32. */
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

/** True or false. */
export const truth: Reading<boolean> = (fact) => fact === 'true' || (fact === 'false' ? false : undefined);

/** Seconds in another unit. */
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
  const told = text(fact);
  if (!DATE.test(told)) return undefined;
  const iso = told.endsWith('Z') ? told : told.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
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

const MAC =
  /^([\da-f]{2})[-:.]?([\da-f]{2})[-:.]?([\da-f]{2})[-:.]?([\da-f]{2})[-:.]?([\da-f]{2})[-:.]?([\da-f]{2})$/i;

/** A MAC address as `AA-BB-CC-DD-EE-FF`. */
export const dashedMac: Reading<string> = (fact) => MAC.exec(text(fact))?.slice(1).join('-').toUpperCase();

/** A MAC address as `aa:bb:cc:dd:ee:ff`. */
export const mac: Reading<string> = (fact) => MAC.exec(text(fact))?.slice(1).join(':').toLowerCase();

const addressOf =
  (...versions: number[]): Reading<string> =>
  (fact) =>
    versions.includes(isIP(text(fact))) ? text(fact) : undefined;

export const ip = addressOf(4, 6);
export const ipv4 = addressOf(4);
export const ipv6 = addressOf(6);

/** The first IPv6 address of a list. */
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
    .map(({ column, kind }) => [column, READING_OF_KIND[kind] ?? asTold] as const)
    .toReversed(),
);

/** How to read a fact without a mapping: numbers, times and truth values as such, anything else as text. */
export const unmappedReading = (fact: string): Reading => readingOfColumn.get(fact) ?? asTold;
