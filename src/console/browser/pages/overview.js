// Keeps the overview up to date: every 5 s it fetches the page and updates its parts with `data-live`. It pauses while
// the page is hidden. If the service does not answer, it reports that and retries.

import { html } from 'htm/preact';
import { Idiomorph } from 'idiomorph';
import { render } from 'preact';
import { fetchPage } from '../shared/fetch-page.js';

const INTERVAL_MS = 5_000;

/** A service that has not answered by then counts as unavailable. */
const PATIENCE_MS = 10_000;

/** @type {HTMLElement | null} */
const chart = document.querySelector('#arrivals-chart');
let isRefreshing = false;

/** Updates the page now. */
async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    const fresh = await fetchPage(addressOfPage(), AbortSignal.timeout(PATIENCE_MS));
    for (const part of document.querySelectorAll('[data-live]')) {
      const like = fresh.getElementById(part.id);
      if (like !== null) void Idiomorph.morph(part, like, { callbacks: { beforeAttributeUpdated: isOurs } });
    }
    showStale();
    document.dispatchEvent(new CustomEvent('overview-refreshed'));
  } catch (error) {
    showStale(error instanceof Error ? error.message : String(error));
  } finally {
    isRefreshing = false;
  }
}

/**
 * Whether an attribute follows the server: the person decides whether <details> is open.
 *
 * @param {string} name
 */
const isOurs = (name) => name !== 'open';

/** The range that the page was opened with stays, even if another one would be the default by now. */
function addressOfPage() {
  const address = new URL(location.href);
  const { range } = chart?.dataset ?? {};
  if (range !== undefined && !address.searchParams.has('range')) address.searchParams.set('range', range);
  return address;
}

/** @param {string} [why] undefined: the service answers */
function showStale(why) {
  const place = document.querySelector('#stale');
  if (place === null) return;
  render(
    why !== undefined &&
      html`<p class="note bad">Out of date: the service does not answer (${why}). Retrying.</p>`,
    place,
  );
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

async function refreshAndGoOn() {
  clearTimeout(timer);
  if (document.hidden) return;
  await refresh();
  clearTimeout(timer);
  timer = setTimeout(() => void refreshAndGoOn(), INTERVAL_MS);
}

document.addEventListener('visibilitychange', () => void refreshAndGoOn());
timer = setTimeout(() => void refreshAndGoOn(), INTERVAL_MS);
