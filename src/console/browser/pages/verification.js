// Follows the verification that runs: shows its progress, and reloads the page when it has ended.

import { html } from 'htm/preact';
import { render } from 'preact';
import { request } from '../shared/api.js';
import { notify } from '../shared/page.js';
import { formatCount } from '../shared/numbers.js';

const INTERVAL_MS = 1_000;

const place = document.querySelector('[data-running]');
if (place !== null) void follow(place);

/** @param {Element} place */
async function follow(place) {
  try {
    const { verification } = await request('/integrity/verification');
    if (verification?.state !== 'running') {
      location.reload();
      return;
    }
    const { leaves, leaves_done: done } = verification;
    render(
      html`
        <progress max=${Math.max(1, leaves)} value=${done} aria-label="Verified leaves"></progress>
        <span role="status">${formatCount(done)} of ${formatCount(leaves)} leaves verified</span>
      `,
      place,
    );
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), 'bad');
    return;
  }
  setTimeout(() => void follow(place), INTERVAL_MS);
}
