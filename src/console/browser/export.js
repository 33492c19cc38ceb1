// Export links are plain downloads. This module shows the progress, which the browser does not know, and a button to
// cancel. The links also work without it.

import { request } from './api.js';
import { notify } from './page.js';

const INTERVAL_MS = 500;

/** Attempts until the export is known: the browser may first ask where to save the file. */
const PATIENCE = 240;

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-export]') : null;
  if (!(link instanceof HTMLAnchorElement)) return;
  const id = newId();
  const address = new URL(link.href);
  address.searchParams.set('export_id', id);
  link.href = address.href;
  void follow(id, link);
});

/** 32 hexadecimal digits: `crypto.randomUUID` is missing where the console is not served by HTTPS. */
const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/**
 * @param {string} id
 * @param {HTMLAnchorElement} link
 */
async function follow(id, link) {
  const { panel, show } = panelOf(id);
  link.closest('.exports')?.after(panel);
  let isKnown = false;
  for (let asked = 0; isKnown || asked < PATIENCE; asked += 1) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    const progress = await request(`/exports/${id}`).catch(() => undefined);
    if (progress === undefined) continue;
    isKnown = true;
    show(progress);
    if (progress.state === 'running') continue;
    panel.remove();
    const what = amountOf(progress);
    if (progress.state === 'done') notify(`Exported ${what}.`);
    else notify(`The export failed after ${what}. The file is incomplete.`, 'bad');
    return;
  }
  panel.remove();
}

const numbers = new Intl.NumberFormat('en');

/** @param {number} bytes */
const sizeOf = (bytes) =>
  bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** @param {{ rows: number, bytes: number }} progress */
const amountOf = ({ rows, bytes }) =>
  `${numbers.format(rows)} ${rows === 1 ? 'event' : 'events'}, ${sizeOf(bytes)}`;

/** @param {string} id */
function panelOf(id) {
  const panel = document.createElement('div');
  const text = document.createElement('p');
  const bar = document.createElement('progress');
  const cancel = document.createElement('button');
  panel.className = 'panel export';
  text.textContent = 'Starting the export…';
  bar.setAttribute('aria-label', 'Export');
  Object.assign(cancel, { type: 'button', className: 'quiet', textContent: 'Cancel export' });
  cancel.addEventListener('click', () => {
    cancel.disabled = true;
    request(`/exports/${id}/cancel`, { method: 'POST', body: {} }).catch((error) =>
      notify(String(error), 'bad'),
    );
  });
  panel.append(text, bar, cancel);

  /** @param {{ rows: number, bytes: number, expected_rows: number | null }} progress */
  function show({ rows, bytes, expected_rows: expected }) {
    const whole = expected === null ? '' : ` of about ${numbers.format(expected)}`;
    text.textContent = `${numbers.format(rows)}${whole} events, ${sizeOf(bytes)}`;
    if (expected !== null && expected > 0) bar.value = Math.min(1, rows / expected);
  }
  return { panel, show };
}
