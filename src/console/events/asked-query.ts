import type { z } from 'zod';
import { moment } from '../api/moment.ts';

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
