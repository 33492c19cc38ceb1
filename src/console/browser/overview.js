// Keeps the overview up to date: every 5 s it asks for this page anew, as the server renders it, and makes the parts
// with `data-live` like those. It rests while nobody looks, and when the service does not answer it says so and tries on.

import { morph } from './morph.js';

const INTERVAL_MS = 5_000;

/** What has not answered by then is away. */
const PATIENCE_MS = 10_000;

const freshness = document.querySelector('#freshness');
let asOf = freshness?.textContent?.replace('As of ', '') ?? '';
let isRefreshing = false;

/** Brings the page up to date now, for where it is: the address may have changed. */
async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    const fresh = await fetchPage();
    if (fresh === undefined) return;
    for (const part of document.querySelectorAll('[data-live]')) {
      const like = fresh.getElementById(part.id);
      if (like !== null) morph(part, like);
    }
    showFresh(fresh.querySelector('#freshness')?.textContent ?? '');
    document.dispatchEvent(new CustomEvent('overview-refreshed'));
  } catch (error) {
    showStale(error instanceof Error ? error.message : String(error));
  } finally {
    isRefreshing = false;
  }
}

/** @returns {Promise<Document | undefined>} undefined: the person has to log in again, and is sent there */
async function fetchPage() {
  const response = await fetch(location.href, {
    headers: { Accept: 'text/html' },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.redirected) {
    location.reload();
    return undefined;
  }
  if (!response.ok) throw new Error(`the console answered ${response.status}`);
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
  freshness.textContent = `Stale: these numbers are of ${asOf}. The service does not answer (${why}); asking on.`;
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
document.addEventListener('overview-moved', () => void refreshAndGoOn());
timer = setTimeout(() => void refreshAndGoOn(), INTERVAL_MS);
