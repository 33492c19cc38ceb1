import { html } from 'htm/preact';
import { render } from 'preact';
import { keep } from './cookie.ts';

// The time zone that pages are drawn in, and the choice of another one. The server knows it by a cookie, so that the
// first paint is right; the first visit takes the time zone of the browser.

const COOKIE = 'xiq_time_zone';

/** The time zone of this page. */
export const zone = document.documentElement.dataset['timeZone'] ?? 'UTC';

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Keeps the choice, and draws the page again. */
function choose(chosen: string) {
  // Without cookies the page would be the same again.
  if (keep(COOKIE, chosen) && chosen !== zone) location.reload();
}

if (!document.cookie.includes(`${COOKIE}=`)) choose(local);

for (const select of document.querySelectorAll<HTMLSelectElement>('select[data-time-zones]')) {
  const near = [...new Set([local, 'UTC', zone])];
  const showAll = () => showZones(select, [...new Set([...near, ...Intl.supportedValuesOf('timeZone')])]);
  // It may have the focus already, before this module ran.
  if (document.activeElement === select) showAll();
  else {
    showZones(select, near);
    select.addEventListener('focus', showAll, { once: true });
  }
  select.addEventListener('change', () => choose(select.value));
}

function showZones(select: HTMLSelectElement, zones: readonly string[]) {
  render(
    zones.map(
      (name) => html`
        <option key=${name} value=${name} selected=${name === zone}>
          ${name === local ? `${name} (this browser)` : name}
        </option>
      `,
    ),
    select,
  );
}
