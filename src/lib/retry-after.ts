/**
 * The delay that an HTTP response requests, in milliseconds, from its `Retry-After` header: seconds or an HTTP date.
 * Undefined if the header is missing or malformed.
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
