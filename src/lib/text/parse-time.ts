import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', MINUTE_MS],
  ['h', HOUR_MS],
  ['d', DAY_MS],
  ['w', 7 * DAY_MS],
]);

/** The milliseconds of a duration such as 90s, 10m, 24h, 7d or 2w. Undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  const unitMs = UNITS.get(unit);
  return unitMs && Number(amount) * unitMs;
}

const WRITTEN =
  /^(?<date>\d{4}-\d\d-\d\d)(?:[T ](?<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?<offset>Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads a point in time that a person writes: a date, an ISO 8601 date and time (with `T` or a blank), `now`, or how long
 * ago (90m, 24h, 7d, 2w). Without an offset it is local time in `zone`, an IANA name. A local time that the clocks skip is
 * moved forward by as much as they are; of one that occurs twice the first counts. Undefined if it is no time.
 */
export function parseTime(text: string, now: Date, zone = 'UTC'): Date | undefined {
  if (text === 'now') return now;
  const ago = parseDuration(text);
  if (ago !== undefined) return validDate(now.getTime() - ago);
  const { date, clock = '00:00', offset } = WRITTEN.exec(text)?.groups ?? {};
  if (date === undefined) return undefined;
  const local = Date.parse(`${date}T${clock}Z`);
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(local) || !startsWithDate(local, date, clock)) return undefined;
  if (offset !== undefined) return validDate(Date.parse(`${date}T${clock}${offset}`));
  return validDate(fromLocal(local, zone));
}

/** Whether `zone` is a time zone that `parseTime` knows, such as Europe/Berlin. */
export function isTimeZone(zone: string): boolean {
  try {
    return formatterOf(zone) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function startsWithDate(time: number, date: string, clock: string): boolean {
  // 24:00 is the beginning of the next day.
  const day = clock.startsWith('24') ? time - 1 : time;
  return new Date(day).toISOString().startsWith(date);
}

function validDate(time: number): Date | undefined {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The instant of a local time, which is given as if it were UTC (epoch milliseconds). */
function fromLocal(local: number, zone: string): number {
  if (zone === 'UTC') return local;
  const before = offsetAt(local - DAY_MS, zone);
  const after = offsetAt(local + DAY_MS, zone);
  const instant = [local - before, local - after].find((time) => time + offsetAt(time, zone) === local);
  return instant ?? local - before;
}

/** A time as ISO 8601 with milliseconds and the offset of a zone: 2026-01-31T08:00:00.000+01:00; Z in UTC. */
export function isoIn(zone: string, time: Date): string {
  if (zone === 'UTC') return time.toISOString();
  const offset = offsetAt(time.getTime(), zone);
  const local = new Date(time.getTime() + offset).toISOString().slice(0, -1);
  const length = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${local}${offset < 0 ? '-' : '+'}${length}`;
}

/** How far the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
function offsetAt(time: number, zone: string): number {
  const parts = formatterOf(zone).formatToParts(time);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  const offset = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -offset : offset;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const formatter = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  formatters.set(timeZone, formatter);
  return formatter;
}

/** A time range, whose end is exclusive; without one of them, from the first or to the last. */
export interface TimeRange {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** A time range with both ends; `until` is exclusive. */
export type WholeRange = { readonly since: Date; readonly until: Date };

export type MonthRange = NonNullable<ReturnType<typeof monthRange>>;

/** The range of a month, such as 2026-03, in a time zone, with an exclusive end; undefined if it is none. */
export function monthRange(month: string, zone = 'UTC') {
  const first = new Date(`${month}-01T00:00:00Z`);
  if (!/^\d{4}-\d\d$/.test(month) || Number.isNaN(first.getTime())) return undefined;
  const next = nextMonth(first.getTime());
  return {
    month,
    since: new Date(fromLocal(first.getTime(), zone)),
    until: new Date(fromLocal(next, zone)),
  };
}

/** The periods that reports are about. */
export const PERIODS = ['day', 'week', 'month'] as const;

export type Period = (typeof PERIODS)[number];

export type PeriodRange = ReturnType<typeof periodAt>;

/**
 * The day, the week (from Monday on) or the month of a time zone that an instant is in, with an exclusive end. Its label is
 * the month as YYYY-MM, otherwise the first day as YYYY-MM-DD.
 */
export function periodAt(every: Period, instant: Date, zone: string) {
  const day = Date.parse(isoIn(zone, instant).slice(0, 'YYYY-MM-DD'.length));
  const first = firstDayOf(every, new Date(day));
  const next = every === 'month' ? nextMonth(first) : first + (every === 'week' ? 7 : 1) * DAY_MS;
  return {
    label: new Date(first).toISOString().slice(0, every === 'month' ? 'YYYY-MM'.length : 'YYYY-MM-DD'.length),
    since: new Date(fromLocal(first, zone)),
    until: new Date(fromLocal(next, zone)),
  };
}

/**
 * What a range is compared with, as far as it has passed: the same hours a day before, the same days a week before if it is
 * longer than a day, the month before if it is a month of the zone, else as long a time before it.
 */
export function rangeBefore({ since, until }: WholeRange, now: Date, zone: string): WholeRange {
  const [first, end] = [since.getTime(), until.getTime()];
  const { since: monthSince, until: monthUntil } = periodAt('month', since, zone);
  const isMonth = first === monthSince.getTime() && end === monthUntil.getTime();
  const monthBefore = periodAt('month', new Date(first - 1), zone).since.getTime();
  const usual = [DAY_MS, 7 * DAY_MS].find((shift) => end - first <= shift) ?? end - first;
  const shift = isMonth ? first - monthBefore : usual;
  return {
    since: new Date(first - shift),
    until: new Date(Math.min(first, Math.min(end, now.getTime()) - shift)),
  };
}

function firstDayOf(every: Period, day: Date): number {
  if (every === 'month') return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1);
  const daysSinceMonday = (day.getUTCDay() + 6) % 7;
  return day.getTime() - (every === 'week' ? daysSinceMonday * DAY_MS : 0);
}

function nextMonth(first: number): number {
  const day = new Date(first);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 1);
}
