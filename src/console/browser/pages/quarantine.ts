// Replays or discards the selected items of the list in parts, and reports the result of each. If none is selected, the
// buttons are for all items that match.

import type { ReplayAnswer } from '../../quarantine/read-quarantine.ts';
import { agree, chosenIds, fieldsOf, finish } from '../shared/actions.ts';
import { postInParts, type Told } from '../shared/in-parts.ts';
import { countOf } from '../shared/numbers.ts';
import { notify } from '../shared/page.ts';

/** Items per request, which takes the server about a second. */
const PART = 200;

const form = document.querySelector('form#chosen');
if (form instanceof HTMLFormElement) enable(form);

function enable(form: HTMLFormElement) {
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

  async function run(action: 'replay' | 'discard') {
    const ids = chosenIds(form);
    const isAll = ids.length === 0;
    const count = isAll ? total : ids.length;
    if (count === 0) return notify('Select at least one item.', 'bad');
    const question = `Discard ${countOf(count, 'item')}? The content is deleted permanently; reason, size and source stay.`;
    if (action === 'discard' && !(await agree(question, 'Discard'))) return;
    const chosen = isAll ? { matching: JSON.parse(form.dataset['matching'] ?? '{}') } : { ids };
    const body = { ...chosen, limit: PART };
    if (action === 'replay') await postInParts(form, '/quarantine/replay', body, count, REPLAYING);
    else await postInParts(form, '/quarantine/discard', body, count, DISCARDING);
    finish(form, (id) => isAll || ids.includes(id));
  }
}

// The page of one item: if the replay failed, the item is still open, so there is nothing to reload.
document.addEventListener('done', (event) => {
  if (!(event instanceof CustomEvent)) return;
  const replay: ReplayAnswer | undefined = event.detail.results?.[0];
  if (replay === undefined || replay.outcome === 'replayed') return;
  event.preventDefault();
  notify(`Not replayed: ${replay.reason}`, 'bad');
});

interface Discarded {
  readonly discarded: number;
  readonly next_cursor: string | null;
}

const discardedOf = (answers: readonly Discarded[]) =>
  answers.reduce((sum, { discarded }) => sum + discarded, 0);

const DISCARDING: Told<Discarded> = {
  verb: 'discarded',
  doneOf: discardedOf,
  sumUp: (answers) => `${discardedOf(answers)} discarded.`,
  failuresOf: () => [],
};

interface Replayed {
  readonly results: readonly ReplayAnswer[];
  readonly next_cursor: string | null;
}

const resultsOf = (answers: readonly Replayed[]) => answers.flatMap(({ results }) => results);

const REPLAYING: Told<Replayed> = {
  verb: 'replayed',
  doneOf: (answers) => resultsOf(answers).length,
  sumUp: (answers) => sumUp(resultsOf(answers)),
  /** What stays open, and what was quarantined anew. */
  failuresOf: (answers) =>
    resultsOf(answers).flatMap(({ outcome, again, quarantine_id: id, reason }) =>
      outcome === 'replayed'
        ? again.map((one) => ({ id: one.quarantine_id, reason: one.reason }))
        : [{ id, reason }],
    ),
};

function sumUp(results: readonly ReplayAnswer[]) {
  const replayed = results.filter(({ outcome }) => outcome === 'replayed');
  const events = replayed.reduce((sum, one) => sum + one.events, 0);
  const duplicates = replayed.reduce((sum, one) => sum + one.duplicates, 0);
  const again = replayed.reduce((sum, one) => sum + one.again.length, 0);
  const left = results.filter(({ outcome }) => outcome === 'refused' || outcome === 'unknown').length;
  return `${replayed.length} replayed: ${countOf(events, 'event')}, ${countOf(duplicates, 'duplicate')}, ${again} quarantined again; ${left} not replayed.`;
}
