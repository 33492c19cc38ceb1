import { z } from 'zod';
import { isRawNumber } from '../../src/events/exact-json.ts';
import type { RawNumber } from '../../src/events/exact-json.ts';

/** A 64-bit identifier in JSON: kept as its own text if a double would round it. */
export type Int64 = number | RawNumber;

const MAX_INT64 = 2n ** 63n - 1n;

/** An identifier in a path or a query: read as its digits, without leading zeros. */
export const int64Path = z
  .string()
  .refine((text) => /^\d{1,19}$/.test(text) && BigInt(text) <= MAX_INT64, 'must be a 64-bit integer')
  .transform((digits) => BigInt(digits).toString())
  .meta({ type: 'integer', format: 'int64' });

/** An identifier in a JSON body. */
export const int64 = z
  .custom<Int64>((value) => Number.isSafeInteger(value) || isRawNumber(value), 'must be an integer')
  .meta({ type: 'integer', format: 'int64' });

/** The digits of an identifier, which are its key in every map of the emulator. */
export function digitsOf(id: Int64): string {
  return isRawNumber(id) ? id.rawJSON : String(id);
}

/** The identifier that these digits stand for, exactly. */
export function int64Of(digits: string): Int64 {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(digits);
}

/**
 * For `JSON.parse`: keeps an integer that a double would round. All other numbers stay numbers, so that schemas of
 * numbers accept `0.20`, which the project's exact reader keeps as text.
 */
export function keepInt64(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const digits = context?.source;
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  return digits !== undefined && /^-?\d+$/.test(digits) ? JSON.rawJSON(digits) : value;
}
