// The time range in the address of a page. A range that is chosen in a chart is loaded, and a double click leads back.

const KEY = 'range before ';

const here = () => location.pathname + location.search;

/** Opens the same page with another range. */
export function openRange(since: Date, until: Date) {
  const query = new URLSearchParams(location.search);
  query.set('since', since.toISOString());
  query.set('until', until.toISOString());
  query.delete('cursor');
  const address = `${location.pathname}?${query}`;
  sessionStorage.setItem(KEY + address, here());
  location.assign(address);
}

/** Opens the page with the range in which the present one was chosen, if it was. */
export function openRangeBefore() {
  const address = sessionStorage.getItem(KEY + here());
  if (address !== null) location.assign(address);
}
