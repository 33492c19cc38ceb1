import { z } from 'zod';
import type { Request } from 'express';
import { isTimeZone, monthRange, parseTime } from '../../lib/text/parse-time.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { HttpError } from '../../lib/errors.ts';

const MESSAGE = 'must be a time such as 2026-01-31 08:00, or how long ago: 90m, 12h, 7d';

/** A point in time as a person writes it, since 1970: in UTC unless an offset is given, or how long ago. */
export const moment = z
  .string({ error: MESSAGE })
  .transform((text, context) => {
    const time = parseTime(text.trim(), new Date());
    if (time !== undefined && time.getTime() >= 0) return time;
    context.addIssue({ code: 'custom', message: MESSAGE });
    return z.NEVER;
  })
  .describe('ISO 8601, in UTC unless an offset is given; or how long ago: 90m, 12h, 7d');

/** A month of UTC as its range, by default this one. */
export const month = z
  .string()
  .default(() => new Date().toISOString().slice(0, 'YYYY-MM'.length))
  .transform((text, context) => {
    const range = monthRange(text);
    if (range === undefined) context.addIssue({ code: 'custom', message: 'must be a month such as 2026-03' });
    return range ?? z.NEVER;
  });

export const timeZone = z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin');

/** What a file is like that a route exports. */
export const fileShape = {
  format: z.enum(['csv', 'ndjson'], 'must be csv or ndjson').default('csv'),
  tz: timeZone.describe('time zone of the times in CSV').optional(),
  bom: z.literal('true').optional().describe('begin CSV with a byte order mark'),
};

/** A point in time in an answer: ISO 8601 in UTC. */
export const isoTime = z
  .date()
  .transform((at) => at.toISOString())
  .pipe(z.string());

/** Members of an answer that are numbers. */
export function numbers<const Name extends string>(...names: readonly Name[]): Record<Name, z.ZodNumber>;
export function numbers(...names: readonly string[]): Record<string, z.ZodNumber> {
  return Object.fromEntries(names.map((name) => [name, z.number()]));
}

/** A text in a request. Postgres cannot store U+0000, and answers a query with it by an error. */
export const text = z
  .string({ error: ({ input }) => (Array.isArray(input) ? 'can be given only once' : undefined) })
  .refine((value) => !value.includes('\0'), 'must not contain the character U+0000');

/** A text of limited length as a query parameter. */
export const shortText = (most: number) => text.max(most, `must have at most ${most} characters`);

/** A query parameter that `read` makes of a text; undefined from it means that the text is wrong, and `message` says why. */
export const parsedText = <Value>(read: (value: string) => Value | undefined, message: string) =>
  text.transform((value, context): Value => {
    const parsed = read(value);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

export type Written = Readonly<Record<string, string | string[]>>;

/** The query parameters of a request: a list of texts if a name occurs more than once. Empty values are left out. */
export function queryOf({ url }: Pick<Request, 'url'>): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  const { searchParams } = new URL(url, 'http://localhost');
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name).filter((value) => value !== '');
    const [first] = values;
    if (first !== undefined) query[name] = values.length === 1 ? first : values;
  }
  return query;
}

/** The text of a parameter; the first if there are several. */
export function textOf(written: Written, name: string): string | undefined {
  const value = written[name];
  return Array.isArray(value) ? value[0] : value;
}

/** What a form shows: what was entered, or is usual, and what is wrong with it. */
export interface Entered {
  readonly written: Written;
  /** By parameter name; only the first problem of each. */
  readonly problems: ReadonlyMap<string, string>;
}

/** What a form shows of values; those that are undefined are empty. */
export const enteredOf = (values: Readonly<Record<string, string | number | undefined>>): Entered => ({
  written: Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ),
  problems: new Map(),
});

export const NOTHING_ENTERED = enteredOf({});

export const only = (written: Written, names: readonly string[]): Written =>
  Object.fromEntries(Object.entries(written).filter(([name]) => names.includes(name)));

/**
 * Parses a query without its wrong parameters, and says what is wrong with those: a mistyped parameter does not empty a
 * page. `complete` adds parameters to the right ones. Throws HttpError 400 if the query cannot do without a wrong one.
 */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  written: Written,
  complete = (right: Written) => right,
): Entered & { readonly values: z.output<Schema>; readonly right: Written } {
  const issues = schema.safeParse(written).error?.issues ?? [];
  const problems = new Map(
    issues.map(({ path, message }): [string, string] => [String(path[0]), message]).toReversed(),
  );
  const right = complete(Object.fromEntries(Object.entries(written).filter(([name]) => !problems.has(name))));
  const { data, error } = schema.safeParse(right);
  if (error === undefined) return { values: data, written: { ...right, ...written }, problems, right };
  const told = [...problems].map(([name, problem]) => `${name} ${problem}`).join('; ');
  throw new HttpError(400, 'BAD_REQUEST', told, { cause: error });
}

/** Adds the start of the range if it is missing: this number of days before its end, or before now. */
export function withBeginning(written: Written, days: number): Written {
  if (written['since'] !== undefined) return written;
  const until = moment.safeParse(written['until']).data;
  if (until !== undefined) {
    return { ...written, since: new Date(until.getTime() - days * DAY_MS).toISOString() };
  }
  return { ...written, since: days === 1 ? '24h' : `${days}d` };
}

export function several<T extends z.ZodType>(one: T) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(one),
  );
}

export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

export const limit = (usual: number, most: number) =>
  wholeNumber(1, most).default(usual).describe(`maximum number of items, 1 to ${most}`);
