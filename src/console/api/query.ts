import type { Request } from 'express';
import { z } from 'zod';

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
