import { z } from 'zod';
import { queryInt } from './query.ts';

/** Query parameters of a paged list, `limit` up to `max`; names, defaults and limits as in the published interface. */
export function pageQuery(max = 100) {
  return z.object({ page: queryInt(1).default(1), limit: queryInt(1, max).default(10) });
}

/** Which page is asked for, counted from 1, and how many items it holds at most. */
interface PageRequest {
  page: number;
  limit: number;
}

/**
 * One page in the paged shape of the specification (General conventions); of `pagination` it shows `total` only, the
 * other members are ours.
 */
export function pageOf<T>(items: readonly T[], { page, limit }: PageRequest) {
  const data = items.slice((page - 1) * limit, page * limit);
  return { pagination: { total: items.length, page, limit, count: data.length }, data };
}
