import type { Request } from 'express';
import { z } from 'zod';
import { moment } from './moment.ts';

/** The query of a request: text, or several texts where a name stands more than once. What is empty is not there. */
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

/** A parameter that may stand several times. */
export function several<T extends z.ZodType>(one: T) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(one),
  );
}

/** How many items of a page. */
export const limit = (usual: number, most: number) =>
  z.coerce
    .number()
    .int()
    .min(1)
    .max(most)
    .default(usual)
    .meta({ description: `how many at most, up to ${most}` });

/** A time as ISO 8601 with an offset, or an ISO date, which is midnight in UTC. */
export const time = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], 'takes a time such as 2026-01-31T08:00Z')
  .transform((text) => new Date(text))
  .meta({ description: 'ISO 8601' });

/** A query as its address has it, right or wrong. */
export type Written = Readonly<Record<string, string | string[]>>;

/** What is wrong with a query, by the name of the parameter; of each the first thing. */
export type Problems = ReadonlyMap<string, string>;

/** Reads a query by a schema; when it does not fit, says what is wrong with which parameter. */
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

/** The one text of a parameter; the first where there are several. */
export function textOf(written: Written, name: string): string | undefined {
  const value = written[name];
  return Array.isArray(value) ? value[0] : value;
}

/** A query whose range has a beginning: without one it is so long before its end, or before now. */
export function withBeginning(written: Written, days: number): Written {
  if (written['since'] !== undefined) return written;
  const until = moment.safeParse(written['until']).data;
  if (until !== undefined) {
    return { ...written, since: new Date(until.getTime() - days * DAY_MS).toISOString() };
  }
  return { ...written, since: days === 1 ? '24h' : `${days}d` };
}

const DAY_MS = 86_400_000;
