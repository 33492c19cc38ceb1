import { z } from 'zod';

/** A whole number in a query string, from `min` to `max`. */
export function queryInt(min: number, max = Number.MAX_SAFE_INTEGER) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value),
    z.int('must be a whole number').min(min).max(max),
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

/**
 * Dynamic response selection (specification) over the views of one kind of record: `query` reads `fields` and
 * `views`; `pick` returns the union of both, or the view `basic` if neither is given. The identifier is always
 * included. `extraFields` can be selected although no view contains them.
 */
export function createSelection(views: Views, extraFields: readonly string[] = []) {
  const known = new Set(['id', ...Object.values(views).flat(), ...extraFields]);
  const query = {
    fields: queryList(z.enum([...known])).optional(),
    views: queryList(z.enum(Object.keys(views))).optional(),
  };

  function pick(record: Readonly<Record<string, unknown>>, selected: Selected): Record<string, unknown> {
    const names = [
      ...(selected.fields ?? []),
      ...(selected.views ?? []).flatMap((view) => views[view] ?? []),
    ];
    const wanted = new Set(['id', ...(names.length === 0 ? views.basic : names)]);
    return Object.fromEntries(Object.entries(record).filter(([name]) => wanted.has(name)));
  }

  return { query, pick };
}
