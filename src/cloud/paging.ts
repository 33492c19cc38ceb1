import { z } from 'zod';
import { flatPageSchema, nestedPageSchema } from './contract/paging.ts';
import type { Answer, Call } from './exchange.ts';
import { readJson } from './read-json.ts';
import type { Request } from './request.ts';

interface ListCall<Item extends z.ZodType> {
  path: string;
  query?: Call['query'];
  /** The page size asked for. */
  limit: number;
  item: Item;
  signal?: AbortSignal | undefined;
}

/**
 * All items of a list, page after page as they are asked for. Reads both documented page shapes, and a bare array as
 * the only page. Where the list changes meanwhile an item may come twice.
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
    const isTold = typeof (pages ?? total) === 'number';
    const isLast = isTold ? page >= (pages ?? Infinity) || seen >= (total ?? Infinity) : data.length < limit;
    if (data.length === 0 || isLast) return;
  }
}

/** Both shapes and the bare array, read as the flat one, so that an error names the member that is wrong. */
function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.preprocess(flattened, flatPageSchema(item));
}

function flattened(body: unknown): unknown {
  if (Array.isArray(body)) return { total_pages: 1, data: body };
  const nested = nestedPageSchema(z.unknown()).safeParse(body);
  return nested.success ? { ...nested.data, total_count: nested.data.pagination.total } : body;
}
