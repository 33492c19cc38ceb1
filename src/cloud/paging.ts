import { z } from 'zod';
import { flatPageSchema, nestedPageSchema } from './contract/paging.ts';
import type { Answer, Call } from './exchange.ts';
import { readJson } from './read-json.ts';
import type { Request } from './request.ts';

interface Page<T> {
  items: T[];
  /** Items of all pages, and the number of pages, as far as the cloud tells. */
  total: number | undefined;
  pages: number | undefined;
}

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
    const { items, total, pages } = readJson(schema, answer);
    yield* items;
    seen += items.length;
    const isLast =
      pages === undefined && total === undefined
        ? items.length < limit
        : page >= (pages ?? Infinity) || seen >= (total ?? Infinity);
    if (items.length === 0 || isLast) return;
  }
}

function pageSchema<Item extends z.ZodType>(item: Item) {
  type Items = z.output<Item>;
  return z.union([
    z.array(item).transform((items): Page<Items> => ({ items, total: items.length, pages: 1 })),
    nestedPageSchema(item).transform(({ data, pagination }): Page<Items> => ({
      items: data,
      total: pagination.total,
      pages: undefined,
    })),
    flatPageSchema(item).transform(({ data, total_count, total_pages }): Page<Items> => ({
      items: data,
      total: total_count ?? undefined,
      pages: total_pages ?? undefined,
    })),
  ]);
}
