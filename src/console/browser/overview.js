// Keeps the overview up to date: every 5 s it fetches the page and updates its parts with `data-live`. It pauses while
// the page is hidden. If the service does not answer, it reports that and retries.

import { Idiomorph } from 'idiomorph';

const INTERVAL_MS = 5_000;

/** A service that has not answered by then counts as unavailable. */
const PATIENCE_MS = 10_000;

/** @type {HTMLElement | null} */
const chart = document.querySelector('#arrivals-chart');
const freshness = document.querySelector('#freshness');
let asOf = freshness?.textContent?.replace('As of ', '') ?? '';
let isRefreshing = false;

/** Updates the page now. */
async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    const fresh = await fetchPage();
    if (fresh === undefined) return;
    for (const part of document.querySelectorAll('[data-live]')) {
      const like = fresh.getElementById(part.id);
      if (like !== null) void Idiomorph.morph(part, like, { callbacks: { beforeAttributeUpdated: isOurs } });
    }
    showFresh(fresh.querySelector('#freshness')?.textContent ?? '');
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

/** @returns {Promise<Document | undefined>} undefined: the session has expired, and the page goes to the log-in */
async function fetchPage() {
  const address = new URL(location.href);
  // The range that the page was opened with stays, even if another one would be the default by now.
  const { range } = chart?.dataset ?? {};
  if (range !== undefined && !address.searchParams.has('range')) address.searchParams.set('range', range);
  const response = await fetch(address, {
    headers: { Accept: 'text/html' },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.redirected) {
    location.reload();
    return undefined;
  }
  if (!response.ok) throw new Error(`the console answered with status ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

/** @param {string} text */
function showFresh(text) {
  asOf = text.replace('As of ', '');
  if (freshness === null) return;
  freshness.className = 'dim';
  freshness.textContent = text;
}

/** @param {string} why */
function showStale(why) {
  if (freshness === null) return;
  freshness.className = 'note bad';
  freshness.textContent = `Out of date: last update ${asOf}. The service does not answer (${why}). Retrying.`;
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
