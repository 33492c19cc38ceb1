import { z } from 'zod';
import { queryList } from './query.ts';

type Views = Readonly<Record<string, readonly string[]> & Record<'basic', readonly string[]>>;

interface Selected {
  fields?: readonly string[] | undefined;
  views?: readonly string[] | undefined;
}

/**
 * Dynamic response selection (specification) over the views of one kind of record: `query` reads `fields` and
 * `views`, `pick` returns the union of what both name, the view `basic` where neither names anything. The identifier
 * is always there, and `extraFields` can be asked for though no view has them.
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
