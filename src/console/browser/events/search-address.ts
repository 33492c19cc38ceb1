/** The address of a search with one more term; `search` is the address without it. */
export function searchWith(search: string, key: string, value: string, isExcluded = false) {
  const [path = '', query = ''] = search.split('?');
  const parameters = new URLSearchParams(query);
  const quoted = `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  parameters.append('q', `${isExcluded ? '-' : ''}${key}:${quoted}`);
  parameters.delete('cursor');
  return `${path}?${parameters}`;
}
