/**
 * How long an HTTP answer asks to wait, in milliseconds: the value of its `Retry-After`, in seconds or as an HTTP date.
 * Undefined when it has none, or one that is neither.
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
