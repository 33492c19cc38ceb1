const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Reads a point in time: a date, a time of ISO 8601, or how long before `now` (90m, 12h, 7d). Undefined when it is none. */
export function parseTime(text: string, now: Date): Date | undefined {
  const [, amount, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const milliseconds = UNITS.get(unit);
  if (amount !== undefined && milliseconds !== undefined)
    return new Date(now.getTime() - Number(amount) * milliseconds);
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : new Date(time);
}
