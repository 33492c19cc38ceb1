import { html } from 'htm/preact';
import { render } from 'preact';
import { request } from '../shared/api.js';
import { formatCount } from '../shared/numbers.js';

// Tells how many events are newer than those of the list, which stays until the reader asks for them.

const INTERVAL_MS = 10_000;

const place = document.querySelector('[data-newer]');
if (place instanceof HTMLElement) setInterval(() => void look(place), INTERVAL_MS);

/** @param {HTMLElement} place */
async function look(place) {
  if (document.hidden) return;
  // A look that fails is no news: the next one may do.
  const histogram = await request(place.dataset['newer'] ?? '').catch(() => ({ bars: [] }));
  const count = histogram.bars
    .flatMap((/** @type {{ counts: Record<string, number> }} */ { counts }) => Object.values(counts))
    .reduce((/** @type {number} */ all, /** @type {number} */ one) => all + one, 0);
  if (count === 0) return;
  const about = histogram.is_complete ? '' : 'about ';
  render(
    html`<button class="quiet" type="button" onClick=${showThem}>${about}${formatCount(count)} new</button>`,
    place,
  );
}

function showThem() {
  // Of an open event, too: it may no longer be on the first page.
  history.replaceState(null, '', location.pathname + location.search);
  location.reload();
}
