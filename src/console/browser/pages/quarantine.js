// Replays or discards the selected items of the list in parts, and reports the result of each. If none is selected, the
// buttons are for all items that match.

import { agree, chosenIds, fieldsOf, finish } from '../shared/actions.js';
import { postInParts } from '../shared/in-parts.js';
import { countOf } from '../shared/numbers.js';
import { notify } from '../shared/page.js';

/**
 * The result of one replay from the API.
 *
 * @typedef {object} Replay
 * @property {string} quarantine_id
 * @property {'replayed' | 'resolved' | 'refused' | 'unknown'} outcome
 * @property {number} events
 * @property {number} duplicates
 * @property {{ quarantine_id: string, reason: string }[]} again
 * @property {string | null} reason
 */

/** Items per request, which takes the server about a second. */
const PART = 200;

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
  const buttons = [...form.querySelectorAll('button')].map((button) => ({
    button,
    text: button.textContent.trim(),
  }));
  form.addEventListener('change', () => {
    const count = chosenIds(form).length;
    for (const { button, text } of buttons)
      button.textContent = count === 0 ? text : `${text.split(' ')[0]} ${count}`;
  });
  form.querySelector('[name="replay"]')?.addEventListener('click', () => void run('replay'));
  form.querySelector('[name="discard"]')?.addEventListener('click', () => void run('discard'));

  /** @param {'replay' | 'discard'} action */
  async function run(action) {
    const ids = chosenIds(form);
    const isAll = ids.length === 0;
    const count = isAll ? total : ids.length;
    if (count === 0) return notify('Select at least one item.', 'bad');
    const question = `Discard ${countOf(count, 'item')}? The content is deleted permanently; reason, size and source stay.`;
    if (action === 'discard' && !(await agree(question, 'Discard'))) return;
    const chosen = isAll ? { matching: JSON.parse(form.dataset['matching'] ?? '{}') } : { ids };
    const told = action === 'replay' ? REPLAYING : DISCARDING;
    await postInParts(form, `/quarantine/${action}`, { ...chosen, limit: PART }, { count, ...told });
    finish(form, (id) => isAll || ids.includes(id));
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

/** @param {readonly { results: Replay[] }[]} answers */
const resultsOf = (answers) => answers.flatMap(({ results }) => results);

/** @param {readonly { discarded: number }[]} answers */
const discardedOf = (answers) => answers.reduce((sum, { discarded }) => sum + discarded, 0);

const DISCARDING = {
  verb: 'discarded',
  doneOf: discardedOf,
  sumUp: (/** @type {readonly any[]} */ answers) => `${discardedOf(answers)} discarded.`,
  failuresOf: () => [],
};

const REPLAYING = {
  verb: 'replayed',
  doneOf: (/** @type {readonly any[]} */ answers) => resultsOf(answers).length,
  sumUp: (/** @type {readonly any[]} */ answers) => sumUp(resultsOf(answers)),
  /** What stays open, and what was quarantined anew. */
  failuresOf: (/** @type {readonly any[]} */ answers) =>
    resultsOf(answers).flatMap(({ outcome, again, quarantine_id: id, reason }) =>
      outcome === 'replayed'
        ? again.map((one) => ({ id: one.quarantine_id, reason: one.reason }))
        : [{ id, reason }],
    ),
};

/** @param {readonly Replay[]} results */
function sumUp(results) {
  const replayed = results.filter(({ outcome }) => outcome === 'replayed');
  const events = replayed.reduce((sum, one) => sum + one.events, 0);
  const duplicates = replayed.reduce((sum, one) => sum + one.duplicates, 0);
  const again = replayed.reduce((sum, one) => sum + one.again.length, 0);
  const left = results.filter(({ outcome }) => outcome === 'refused' || outcome === 'unknown').length;
  return `${replayed.length} replayed: ${countOf(events, 'event')}, ${countOf(duplicates, 'duplicate')}, ${again} quarantined again; ${left} not replayed.`;
}
