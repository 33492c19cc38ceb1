/**
 * The address of a search with one more term.
 *
 * @param {string} search the address without it
 * @param {string} key
 * @param {string} value
 * @param {boolean} [isExcluded]
 */
export function searchWith(search, key, value, isExcluded = false) {
  const [path = '', query = ''] = search.split('?');
  const parameters = new URLSearchParams(query);
  const quoted = `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  parameters.append('q', `${isExcluded ? '-' : ''}${key}:${quoted}`);
  parameters.delete('cursor');
  return `${path}?${parameters}`;
}
