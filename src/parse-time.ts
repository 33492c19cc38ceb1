const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

const ISO_TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/;

/** Reads a point in time: a date, a time of ISO 8601, or how long before `now` (90m, 12h, 7d). Undefined when it is none. */
export function parseTime(text: string, now: Date): Date | undefined {
  const [, amount, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const milliseconds = UNITS.get(unit);
  const time = ISO_TIME.test(text) ? Date.parse(text) : now.getTime() - Number(amount) * Number(milliseconds);
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
