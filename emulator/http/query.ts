import { z } from 'zod';
import type { Dialect } from '../dialects.ts';

/** A whole number in a query string, from `min` to `max`. */
export function queryInt(min: number, max = Number.MAX_SAFE_INTEGER) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value),
    z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max),
  );
}

/** A list in a query string: items separated by commas, or the parameter repeated. Empty items are dropped. */
export function queryList<Item extends z.ZodType>(item: Item) {
  return z
    .preprocess(
      (value) =>
        [value]
          .flat()
          .flatMap((part) => (typeof part === 'string' ? part.split(',') : [part]))
          .map((part) => (typeof part === 'string' ? part.trim() : part))
          .filter((part) => part !== ''),
      z.array(item),
    )
    .meta({ param: { style: 'form', explode: false } });
}

/** A list in a query string: the parameter repeated, once for each item. Empty items are dropped. */
export function queryRepeated<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => [value].flat().filter((part) => part !== ''), z.array(item));
}

/** `true` or `false` in a query string. */
export const queryBoolean = z
  .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
  .meta({ type: 'boolean' });

/** Query parameters of a page. Names, defaults and limits are those of the published interface. */
export function pageQuery(maxLimit = 100) {
  return z.object({ page: queryInt(1).default(1), limit: queryInt(1, maxLimit).default(10) });
}

/** One page of a list (specification, General conventions, for `total`; the other members of `pagination` are ours). */
export function pageOf<T>(items: readonly T[], { page, limit }: z.output<ReturnType<typeof pageQuery>>) {
  const data = items.slice((page - 1) * limit, page * limit);
  return { pagination: { total: items.length, page, limit, count: data.length }, data };
}

type Views = Readonly<Record<string, readonly string[]> & Record<'basic', readonly string[]>>;

interface Selected {
  fields?: readonly string[] | undefined;
  views?: readonly string[] | undefined;
}

interface SelectionOptions {
  dialect?: Dialect;
  /** Fields that can be selected although no view contains them. */
  extraFields?: readonly string[];
  /** Fields that the vendor's schema requires, so that they are included in every answer but the specification's. */
  required?: readonly string[];
}

/**
 * Dynamic response selection (specification) over the views of one kind of record: `query` reads `fields` and
 * `views`; `pick` returns the union of both, or the view `basic` if neither is given. In the published interface, the names
 * are in upper case and a parameter is repeated for each of them, and the identifier is always included.
 */
export function createSelection(views: Views, options: SelectionOptions = {}) {
  const { dialect = 'spec', extraFields = [], required = [] } = options;
  const isSpecified = dialect === 'spec';
  const spell = (name: string) => (isSpecified ? name : name.toUpperCase());
  const names = new Set(['id', ...Object.values(views).flat(), ...extraFields]);
  const list = isSpecified ? queryList : queryRepeated;
  const query = {
    fields: list(z.enum([...names].map(spell))).optional(),
    views: list(z.enum(Object.keys(views).map(spell))).optional(),
  };

  function pick(record: Readonly<Record<string, unknown>>, selected: Selected): Record<string, unknown> {
    const chosen = [
      ...(selected.fields ?? []).map((field) => field.toLowerCase()),
      ...(selected.views ?? []).flatMap((view) => views[view.toLowerCase()] ?? []),
    ];
    const fields = chosen.length === 0 ? views.basic : chosen;
    const wanted = new Set([...fields, ...(isSpecified ? [] : ['id', ...required])]);
    return Object.fromEntries(Object.entries(record).filter(([name]) => wanted.has(name)));
  }

  return { query, pick };
}

/** Records in the order of their times; those of the same millisecond stay in the order of their events. */
export function inTimeOrder<T extends { timestamp: number }>(
  records: readonly T[],
  order: 'ASC' | 'DESC',
): T[] {
  const sorted = records.toSorted((a, b) => a.timestamp - b.timestamp);
  return order === 'DESC' ? sorted.toReversed() : sorted;
}
