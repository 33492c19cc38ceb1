import { request } from '../shared/api.js';

/** @typedef {{ value: string, count: number, name?: string }} Value */
/** @typedef {{ values: readonly Value[], is_complete: boolean, since: string | null }} Counted */

/** Fields without prefixes: their few values are all counted. */
const EXACT = new Set(['action', 'outcome', 'origin', 'code']);

/**
 * The most frequent values of a field that begin with a text, and how many events of a search have them.
 *
 * @param {string} path of the search, below /api/v1
 * @param {string} facet
 * @param {string} begun
 * @param {number} limit
 * @param {AbortSignal} signal
 * @returns {Promise<Counted>}
 */
export async function facetValues(path, facet, begun, limit, signal) {
  const address = new URL(path, location.origin);
  const search = address.searchParams.get('q') ?? '';
  if (begun !== '' && !EXACT.has(facet)) {
    address.searchParams.set('q', `${search} ${facet}:${JSON.stringify(begun)}*`.trim());
  }
  address.searchParams.set('facet', facet);
  address.searchParams.set('limit', String(limit));
  /** @type {Counted} */
  const counted = await request(`${address.pathname}${address.search}`, { signal });
  if (!EXACT.has(facet)) return counted;
  const isMatch = (/** @type {{ value: string }} */ { value }) =>
    value.toLowerCase().startsWith(begun.toLowerCase());
  return { ...counted, values: counted.values.filter(isMatch) };
}
