import type { Request } from 'express';
import { z } from 'zod';
import { moment } from './moment.ts';

/** The query parameters of an address, valid or not. */
export type Written = Readonly<Record<string, string | string[]>>;

/** What is wrong with a query, by parameter name; only the first problem of each. */
export type Problems = ReadonlyMap<string, string>;

/** The query parameters of a request: a list of texts if a name occurs more than once. Empty values are left out. */
export function queryOf({ url }: Request): Record<string, string | string[]> {
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

/** Only those parameters that are named. */
export const only = (written: Written, names: readonly string[]): Written =>
  Object.fromEntries(Object.entries(written).filter(([name]) => names.includes(name)));

/** Parses a query, or reports what is wrong with which parameter. */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  written: Written,
):
  | { readonly asked: z.output<Schema>; readonly problems?: undefined }
  | { readonly asked?: undefined; readonly problems: Problems } {
  const { data, error } = schema.safeParse(written);
  if (error === undefined) return { asked: data };
  const issues = error.issues.map(({ path, message }): [string, string] => [String(path[0]), message]);
  return { problems: new Map(issues.toReversed()) };
}

const DAY_MS = 86_400_000;

/** Adds the start of the range if it is missing: this number of days before its end, or before now. */
export function withBeginning(written: Written, days: number): Written {
  if (written['since'] !== undefined) return written;
  const until = moment.safeParse(written['until']).data;
  if (until !== undefined) {
    return { ...written, since: new Date(until.getTime() - days * DAY_MS).toISOString() };
  }
  return { ...written, since: days === 1 ? '24h' : `${days}d` };
}

/** A parameter that can be repeated. */
export function several<T extends z.ZodType>(one: T) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(one),
  );
}

/** A whole number between two others. */
export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** The size of a page. */
export const limit = (usual: number, most: number) =>
  wholeNumber(1, most).default(usual).describe(`maximum number of items, 1 to ${most}`);
