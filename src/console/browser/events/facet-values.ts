import type { CountedFacet } from '../../events/describe-event.ts';
import { request } from '../shared/api.ts';

/** Fields without prefixes: their few values are all counted. */
const EXACT = new Set(['action', 'outcome', 'origin', 'code']);

/**
 * The most frequent values of a field that begin with a text, and how many events of a search have them. `path` is that of the
 * search, below /api/v1.
 */
export async function facetValues(
  path: string,
  facet: string,
  begun: string,
  limit: number,
  signal: AbortSignal,
): Promise<CountedFacet> {
  const address = new URL(path, location.origin);
  const search = address.searchParams.get('q') ?? '';
  if (begun !== '' && !EXACT.has(facet)) {
    address.searchParams.set('q', `${search} ${facet}:${JSON.stringify(begun)}*`.trim());
  }
  address.searchParams.set('facet', facet);
  address.searchParams.set('limit', String(limit));
  const counted: CountedFacet = await request(`${address.pathname}${address.search}`, { signal });
  if (!EXACT.has(facet)) return counted;
  const isMatch = ({ value }: { value: string }) => value.toLowerCase().startsWith(begun.toLowerCase());
  return { ...counted, values: counted.values.filter(isMatch) };
}
