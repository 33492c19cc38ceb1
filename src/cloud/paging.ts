import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import { flatPageSchema, LIST_FORMS, nestedPageSchema, type ListForm } from './contract/shared.ts';
import type { Answer, Call } from './exchange.ts';
import { expectationOf, jsonOrNothing, readBody, unexpectedBody } from './json.ts';
import type { Request } from './request.ts';

interface ListCall<Item extends z.ZodType<{ id: unknown }>> {
  path: string;
  query?: Call['query'];
  limit: number;
  item: Item;
  signal?: AbortSignal | undefined;
}

/**
 * Returns all items of a list, fetched page by page while they are consumed, whichever documented form the list has. Ends
 * with a `CloudApiError` that `isIncomplete` if its pages contradict each other: they have fewer items or more than they
 * say, another total on another page, or an item twice. Others may be missing then. A page without a new item is the last:
 * a cloud that ignores the number of the page would answer with the same one forever.
 */
export async function* listWhole<Item extends z.ZodType<{ id: unknown }>>(
  request: Request<Call>,
  { path, query, limit, item, signal }: ListCall<Item>,
): AsyncGenerator<z.output<Item>, void, undefined> {
  const ids = new Set<string>();
  const totals = new Set<number>();
  let seen = 0;
  for (let page = 1; ;) {
    const answer: Answer = await request({ method: 'GET', path, query: { ...query, page, limit }, signal });
    const { form, items, pages, totalPages, totalItems } = readItems(answer, item);
    yield* items;
    const known = ids.size;
    for (const { id } of items) ids.add(String(id));
    if (totalItems !== undefined) totals.add(totalItems);
    seen += items.length;
    page += pages;
    const hasTotal = totalPages !== undefined || totalItems !== undefined;
    const isReached = hasTotal && page > (totalPages ?? 0) && seen >= (totalItems ?? 0);
    // A total may be wrong: more may follow on a full page, unless the answer has all pages.
    const isFull = form.startsWith('page') && items.length >= limit;
    if (ids.size === known || (isReached && !isFull)) break;
  }
  if (ids.size === seen && [...totals].every((total) => total === seen)) return;
  const found = `${seen} items, ${ids.size} of them different`;
  const said = totals.size === 0 ? '' : `, instead of ${[...totals].join(' and then ')}`;
  throw new CloudApiError(
    `GET ${path} returned ${found}${said}: the list is incomplete or changed while being read`,
    { method: 'GET', path, isIncomplete: true },
  );
}

interface ListBody<Item> {
  readonly form: ListForm;
  readonly items: readonly Item[];
  readonly pages: number;
  /** The size of the whole list, as far as the answer contains it. */
  readonly totalPages?: number | undefined;
  readonly totalItems?: number | undefined;
}

/** Reads the items of a list in any documented form. Throws a `CloudApiError` if it has another form. */
export function readItems<Item extends z.ZodType>(answer: Answer, item: Item): ListBody<z.output<Item>> {
  const body = readBody(answer);
  const list = readList(body);
  if (list === undefined) throw unexpectedBody(answer, body, Object.keys(LIST_FORMS).join(', or '));
  const items = z.array(item).safeParse(list.items);
  if (!items.success) throw unexpectedBody(answer, body, `${expectationOf(items.error)} of the list`);
  return { ...list, items: items.data };
}

/**
 * Reads the created resources in an answer: a list, or one of them. The cloud has created them whatever its answer looks
 * like, so another body is no error.
 */
export function readCreated<Item extends z.ZodType>({ text }: Answer, item: Item): z.output<Item>[] {
  const body = jsonOrNothing(text);
  return z.array(item).safeParse(readList(body)?.items ?? [body]).data ?? [];
}

/** Reads a list, with its items as sent. Undefined if the body has none of the documented forms. */
export function readList(body: unknown): ListBody<unknown> | undefined {
  const items = z.array(z.unknown()).safeParse(body).data;
  const pages = z
    .array(pageSchema)
    .min(1)
    .safeParse(items ?? [body]).data;
  if (pages === undefined) return items && { form: 'bare array', items, pages: 1, totalPages: 1 };
  const last = pages.at(-1);
  return {
    form: items === undefined && last !== undefined ? last.form : 'array of pages',
    items: pages.flatMap((page) => page.items),
    pages: pages.length,
    totalPages: last?.totalPages,
    totalItems: last?.totalItems,
  };
}

/** A page of either form. An empty flat page may lack `data`. */
const pageSchema = z.union([
  nestedPageSchema(z.unknown()).transform(({ pagination, data }) => ({
    form: 'page with pagination' as const,
    items: data,
    totalPages: undefined,
    totalItems: pagination.total,
  })),
  flatPageSchema(z.unknown())
    .refine(({ data, total_count: total }) => data !== undefined || typeof total === 'number')
    .transform(({ data = [], total_pages: totalPages, total_count: totalItems }) => ({
      form: 'page' as const,
      items: data,
      totalPages: totalPages ?? undefined,
      totalItems: totalItems ?? undefined,
    })),
]);
