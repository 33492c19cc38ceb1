// Keeps the overview up to date: every 5 s it fetches the page and replaces its parts with `data-live`. It pauses while
// the page is hidden. If the service does not answer, it reports that and retries.

import { html } from 'htm/preact';
import { render } from 'preact';
import { fetchPage } from '../shared/fetch-page.ts';

const INTERVAL_MS = 5_000;

/** A service that has not answered by then counts as unavailable. */
const PATIENCE_MS = 10_000;

const chart: HTMLElement | null = document.querySelector('#arrivals-chart');
let isRefreshing = false;

/** Updates the page now, if it is seen. */
async function refresh() {
  if (isRefreshing || document.hidden) return;
  isRefreshing = true;
  try {
    const fresh = await fetchPage(addressOfPage(), AbortSignal.timeout(PATIENCE_MS));
    for (const part of document.querySelectorAll('[data-live]')) {
      const like = fresh.getElementById(part.id);
      if (like !== null) replace(part, like);
    }
    showStale();
    document.dispatchEvent(new CustomEvent('overview-refreshed'));
  } catch (error) {
    showStale(error instanceof Error ? error.message : String(error));
  } finally {
    isRefreshing = false;
  }
}

const FOCUSABLE = 'a, button, summary, [tabindex]';

/** Replaces a part that has changed. The focus keeps its place. */
function replace(part: Element, like: Element) {
  if (part.isEqualNode(like)) return;
  const focused = [...part.querySelectorAll(FOCUSABLE)].findIndex((one) => one === document.activeElement);
  part.replaceWith(like);
  const next = like.querySelectorAll(FOCUSABLE)[focused];
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/** The range that the page was opened with stays, even if another one would be the default by now. */
function addressOfPage() {
  const address = new URL(location.href);
  const shown = chart?.dataset['histogram'];
  if (shown !== undefined) address.search = new URL(shown, address).search;
  return address;
}

/** Says why the page is out of date; nothing if the service answers. */
function showStale(why?: string) {
  const place = document.querySelector('#stale');
  if (place === null) return;
  render(
    why !== undefined &&
      html`<p class="note bad">Out of date: the service is not responding (${why}). Retrying.</p>`,
    place,
  );
}

document.addEventListener('visibilitychange', () => void refresh());
setInterval(() => void refresh(), INTERVAL_MS);
