/** Beyond the configured sources, so many more get series of their own. */
const MAX_OTHERS = 100;

/**
 * Makes what turns the name of a source into a label: the configured ones, and the first hundred others, which a
 * worker may be given by ingest processes with other settings. All further ones are `other`, so that nobody can make
 * series without end.
 */
export function createSourceLabel(configured: readonly string[]): (source: string) => string {
  const known = new Set(configured);
  const limit = known.size + MAX_OTHERS;
  return (source) => {
    if (known.has(source)) return source;
    if (known.size >= limit) return 'other';
    known.add(source);
    return source;
  };
}
