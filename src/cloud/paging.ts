import { z } from 'zod';
import { flatPageSchema, nestedPageSchema } from './contract/shared.ts';
import type { Answer, Call } from './exchange.ts';
import { readJson } from './json.ts';
import type { Request } from './request.ts';

interface ListCall<Item extends z.ZodType> {
  path: string;
  query?: Call['query'];
  /** The requested page size. */
  limit: number;
  item: Item;
  signal?: AbortSignal | undefined;
}

/**
 * Returns all items of a list, fetched page by page while they are consumed. Reads both documented page shapes, and a bare
 * array as a single page. If the list changes in the meantime, an item may come twice.
 */
export async function* listAll<Item extends z.ZodType>(
  request: Request<Call>,
  { path, query, limit, item, signal }: ListCall<Item>,
): AsyncGenerator<z.output<Item>, void, undefined> {
  const schema = pageSchema(item);
  let seen = 0;
  for (let page = 1; ; page++) {
    const answer: Answer = await request({ method: 'GET', path, query: { ...query, page, limit }, signal });
    const { data, total_count: total, total_pages: pages } = readJson(schema, answer);
    yield* data;
    seen += data.length;
    const hasTotal = typeof (pages ?? total) === 'number';
    const isLast = hasTotal
      ? page >= (pages ?? Infinity) || seen >= (total ?? Infinity)
      : data.length < limit;
    if (data.length === 0 || isLast) return;
  }
}

/** Reads both shapes and the bare array as the flat shape, so that an error names the wrong member. */
function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.preprocess(flattened, flatPageSchema(item));
}

function flattened(body: unknown): unknown {
  if (Array.isArray(body)) return { total_pages: 1, data: body };
  const nested = nestedPageSchema(z.unknown()).safeParse(body);
  return nested.success ? { ...nested.data, total_count: nested.data.pagination.total } : body;
}
