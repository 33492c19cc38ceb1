// Replays or discards the selected items of the list in parts, and reports the result of each.

import { html, render } from 'htm/preact';
import { agree, chosenIds, fieldsOf, finish } from './actions.js';
import { requestInParts } from './api.js';
import { notify } from './page.js';
import { tableOf } from './table.js';

/**
 * The result of one replay from the API.
 *
 * @typedef {object} Replay
 * @property {string} quarantine_id
 * @property {'replayed' | 'resolved' | 'refused' | 'unknown'} outcome
 * @property {string | null} delivery_id
 * @property {number} events
 * @property {number} duplicates
 * @property {{ quarantine_id: string, reason: string }[]} again
 * @property {string | null} reason
 */

/** Items per request, which takes the server about a second. */
const PART = 200;

/** Results that the page lists; the operator log has the totals. */
const MAX_LISTED = 500;

const form = document.querySelector('form#chosen');
if (form instanceof HTMLFormElement) enable(form);

/** @param {HTMLFormElement} form */
function enable(form) {
  const total = Number(form.dataset['total']);
  for (const all of fieldsOf(form, 'page')) {
    all.addEventListener('change', () => {
      for (const one of fieldsOf(form, 'ids')) one.checked = all.checked;
    });
  }
  form.querySelector('[name="replay"]')?.addEventListener('click', () => void run('replay'));
  form.querySelector('[name="discard"]')?.addEventListener('click', () => void run('discard'));

  /** @param {'replay' | 'discard'} action */
  async function run(action) {
    const isAll = fieldsOf(form, 'all').some((field) => field.checked);
    const ids = chosenIds(form);
    const count = isAll ? total : ids.length;
    if (count === 0) return notify('Select at least one item.', 'bad');
    const what = `${count} ${count === 1 ? 'item' : 'items'}`;
    const question =
      action === 'discard'
        ? `Discard ${what}? Their content is deleted permanently; reason, size and source stay.`
        : `Replay all ${what} that match?`;
    if (
      (action === 'discard' || isAll) &&
      !(await agree(question, action === 'discard' ? 'Discard' : 'Replay'))
    )
      return;
    await work(action, isAll ? { matching: JSON.parse(form.dataset['matching'] ?? '{}') } : { ids }, count);
  }

  /**
   * @param {'replay' | 'discard'} action
   * @param {object} chosen
   * @param {number} count
   */
  async function work(action, chosen, count) {
    const buttons = [...form.querySelectorAll('button')];
    for (const button of buttons) button.disabled = true;
    /** @type {Replay[]} */
    const results = [];
    let discarded = 0;
    /** @param {boolean} isDone @param {string} [problem] */
    const show = (isDone, problem) =>
      draw({ action, results, done: results.length + discarded, count, isDone, problem });
    try {
      show(false);
      for await (const answer of requestInParts(`/quarantine/${action}`, { ...chosen, limit: PART })) {
        if (action === 'replay') results.push(...answer.results);
        else discarded += answer.discarded;
        show(false);
      }
      show(true);
    } catch (error) {
      show(true, error instanceof Error ? error.message : String(error));
    }
    const done = new Set(chosenIds(form));
    finish(form, (id) => 'matching' in chosen || done.has(id));
    for (const button of buttons) button.disabled = false;
  }
}

// The page of one item: if the replay failed, the item is still open, so there is nothing to reload.
document.addEventListener('done', (event) => {
  if (!(event instanceof CustomEvent)) return;
  /** @type {Replay | undefined} */
  const replay = event.detail.results?.[0];
  if (replay === undefined || replay.outcome === 'replayed') return;
  event.preventDefault();
  notify(`Not replayed: ${replay.reason}`, 'bad');
});

/**
 * @param {object} state
 * @param {'replay' | 'discard'} state.action
 * @param {Replay[]} state.results
 * @param {number} state.done
 * @param {number} state.count
 * @param {boolean} state.isDone
 * @param {string | undefined} [state.problem]
 */
function draw({ action, results, done, count, isDone, problem }) {
  const place = document.querySelector('#outcome');
  if (!(place instanceof HTMLElement)) return;
  const verb = action === 'replay' ? 'replayed' : 'discarded';
  const view = html`
    <section class="panel outcome" aria-label="Result">
      <p role="status">${isDone ? sumUp(action, results, done) : `${done} of ${count} ${verb}…`}</p>
      ${!isDone && html`<progress max=${count} value=${done} aria-label="Progress"></progress>`}
      ${problem !== undefined && html`<p class="note bad">Stopped: ${problem}. Items that are not listed are unchanged.</p>`}
      ${isDone && html`<p><a class="button quiet" href=${location.href}>Reload</a></p>`}
      ${isDone && results.length > 0 && html`<${Results} results=${results} />`}
    </section>
  `;
  render(view, place);
}

/**
 * @param {'replay' | 'discard'} action
 * @param {Replay[]} results
 * @param {number} done
 */
function sumUp(action, results, done) {
  if (action === 'discard') return `${done} discarded.`;
  const replayed = results.filter(({ outcome }) => outcome === 'replayed');
  const events = replayed.reduce((sum, one) => sum + one.events, 0);
  const duplicates = replayed.reduce((sum, one) => sum + one.duplicates, 0);
  const again = replayed.reduce((sum, one) => sum + one.again.length, 0);
  const left = results.filter(({ outcome }) => outcome === 'refused' || outcome === 'unknown').length;
  return `${replayed.length} replayed: ${countOf(events, 'event')}, ${countOf(duplicates, 'duplicate')}, ${again} quarantined again; ${left} not replayed.`;
}

/**
 * @param {number} count
 * @param {string} noun
 */
const countOf = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** @param {{ results: Replay[] }} props */
const Results = ({ results }) => html`
  ${tableOf(
    'Results by ID',
    [
      {
        heading: 'ID',
        cell: ({ quarantine_id: id }) => html`<a class="mono" href=${`/quarantine/${id}`}>${id}</a>`,
      },
      { heading: 'Result', kind: 'wrap', cell: describe },
    ],
    results.slice(0, MAX_LISTED),
  )}
  ${results.length > MAX_LISTED && html`<p>First ${MAX_LISTED} of ${results.length}.</p>`}
`;

/** @param {Replay} replay */
function describe({ outcome, delivery_id: delivery, events, duplicates, again, reason }) {
  if (outcome !== 'replayed') return `not replayed: ${reason}`;
  return html`
    <a href=${`/deliveries/${delivery}`}>new delivery</a>: ${countOf(events, 'event')},${' '}
    ${countOf(duplicates, 'duplicate')}
    ${again.map(
      (one) =>
        html`; quarantined again as${' '}
          <a class="mono" href=${`/quarantine/${one.quarantine_id}`}>${one.quarantine_id}</a>: ${one.reason}`,
    )}
  `;
}
