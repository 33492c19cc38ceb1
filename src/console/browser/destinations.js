// Reports the result of a test event, and resends rejected events in parts.

import { html, render } from 'htm/preact';
import { chosenIds, finish } from './actions.js';
import { requestInParts } from './api.js';
import { notify } from './page.js';

document.addEventListener('done', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement && event instanceof CustomEvent)) return;
  const name = form.dataset['test'];
  if (name === undefined) return;
  event.preventDefault();
  const { event_id: id, refusal } = event.detail;
  if (refusal === null) notify(`${name} accepted the test event ${id}.`);
  else notify(`${name} rejected the test event: ${refusal}`, 'bad');
});

/** @typedef {{ event_id: string, reason: string | null }} Resent */

const form = document.querySelector('form#rejected');
if (form instanceof HTMLFormElement) enable(form);

/** @param {HTMLFormElement} form */
function enable(form) {
  form.querySelector('[name="every"]')?.addEventListener('click', () => {
    void send({ all: true }, Number(form.dataset['total']));
  });
  form.querySelector('[name="some"]')?.addEventListener('click', () => {
    const ids = chosenIds(form);
    if (ids.length === 0) notify('Select at least one event.', 'bad');
    else void send({ ids }, ids.length);
  });

  /**
   * @param {object} chosen
   * @param {number} count
   */
  async function send(chosen, count) {
    const buttons = [...form.querySelectorAll('button')];
    for (const button of buttons) button.disabled = true;
    /** @type {Resent[]} */
    const results = [];
    try {
      draw(results, count, false);
      const path = `/destinations/${encodeURIComponent(form.dataset['name'] ?? '')}/replay`;
      for await (const answer of requestInParts(path, chosen)) {
        results.push(...answer.results);
        draw(results, count, false);
      }
      draw(results, count, true);
    } catch (error) {
      draw(results, count, true, error instanceof Error ? error.message : String(error));
    }
    const sent = new Set(results.filter(({ reason }) => reason === null).map((one) => one.event_id));
    finish(form, (id) => sent.has(id));
    for (const button of buttons) button.disabled = false;
  }
}

/**
 * @param {Resent[]} results
 * @param {number} count
 * @param {boolean} isDone
 * @param {string} [problem]
 */
function draw(results, count, isDone, problem) {
  const place = document.querySelector('#outcome');
  if (!(place instanceof HTMLElement)) return;
  const left = results.filter(({ reason }) => reason !== null);
  const sent = results.length - left.length;
  const view = html`
    <section class="panel outcome" aria-label="Result">
      <p role="status">
        ${isDone ? `${sent} resent${left.length === 0 ? '' : `, ${left.length} failed`}.` : `${results.length} of ${count} attempted…`}
      </p>
      ${!isDone && html`<progress max=${count} value=${results.length} aria-label="Progress"></progress>`}
      ${problem !== undefined && html`<p class="note bad">Stopped: ${problem}.</p>`}
      ${
        left.length > 0 &&
        html`<ul>
          ${left.map(({ event_id: id, reason }) => html`<li><span class="mono">${id}</span>: ${reason}</li>`)}
        </ul>`
      }
      ${isDone && html`<p><a class="button quiet" href=${location.href}>Reload</a></p>`}
    </section>
  `;
  render(view, place);
}
