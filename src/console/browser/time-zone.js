import { keep } from './cookie.js';

// The time zone that pages are drawn in, and the choice of another one. The server knows it by a cookie, so that the
// first paint is right; the first visit takes the time zone of the browser.

const COOKIE = 'xiq_time_zone';

/** The time zone of this page. */
export const zone = document.documentElement.dataset['timeZone'] ?? 'UTC';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * Keeps the choice, and draws the page again.
 *
 * @param {string} chosen
 */
function choose(chosen) {
  // Without cookies the page would be the same again.
  if (keep(COOKIE, chosen) && chosen !== zone) location.reload();
}

if (!document.cookie.includes(`${COOKIE}=`)) choose(local);

for (const select of document.querySelectorAll('select[data-time-zones]')) {
  if (!(select instanceof HTMLSelectElement)) continue;
  const near = [...new Set([local, 'UTC', zone])];
  select.replaceChildren(
    ...near.map((name) => optionOf(name, name === local ? `${name} (this browser)` : name)),
  );
  select.value = zone;
  const addOthers = () => select.append(...othersOf(near));
  // It may have the focus already, before this module ran.
  if (document.activeElement === select) addOthers();
  else select.addEventListener('focus', addOthers, { once: true });
  select.addEventListener('change', () => choose(select.value));
}

/** @param {readonly string[]} near */
const othersOf = (near) =>
  Intl.supportedValuesOf('timeZone')
    .filter((name) => !near.includes(name))
    .map((name) => optionOf(name, name));

/**
 * @param {string} value
 * @param {string} text
 */
function optionOf(value, text) {
  const option = document.createElement('option');
  Object.assign(option, { value, textContent: text });
  return option;
}
