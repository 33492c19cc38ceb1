import { z } from 'zod';

const MAX_INT64 = 2n ** 63n - 1n;

/** An identifier in a path: an int64 (specification, Endpoints), read as its digits without leading zeros. */
export const int64Path = z
  .string()
  .refine(isInt64, 'expected an integer of 64 bits')
  .transform((digits) => BigInt(digits).toString())
  .meta({ type: 'integer', format: 'int64' });

/** An int64 in a JSON body, a bigint where a double would round it. */
export const int64 = z
  .custom<number | bigint>(
    (value) => Number.isSafeInteger(value) || typeof value === 'bigint',
    'expected an integer',
  )
  .meta({ type: 'integer', format: 'int64' });

/** The digits of an identifier as the number they are, exactly. */
export function exactNumber(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

function isInt64(text: string): boolean {
  return /^\d{1,19}$/.test(text) && BigInt(text) <= MAX_INT64;
}
