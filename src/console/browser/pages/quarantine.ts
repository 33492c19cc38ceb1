// Replays or discards the selected items of the list in parts, and reports the result of each. If none is selected, the
// buttons are for all items that match.

import type { ReplayAnswer } from '../../quarantine/read-quarantine.ts';
import { agree, chosenIds, fieldsOf, finish } from '../shared/actions.ts';
import { postInParts } from '../shared/in-parts.ts';
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
    if (action === 'replay')
      await postInParts(form, '/quarantine/replay', body, count, 'replayed', tellReplayed);
    else await postInParts(form, '/quarantine/discard', body, count, 'discarded', tellDiscarded);
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

function tellDiscarded(
  answers: readonly { readonly discarded: number; readonly next_cursor: string | null }[],
) {
  const done = answers.reduce((sum, { discarded }) => sum + discarded, 0);
  return { done, summary: `${done} discarded.`, failures: [] };
}

/** Fails what stays open, and what was quarantined anew. */
function tellReplayed(
  answers: readonly { readonly results: readonly ReplayAnswer[]; readonly next_cursor: string | null }[],
) {
  const results = answers.flatMap((answer) => answer.results);
  const replayed = results.filter(({ outcome }) => outcome === 'replayed');
  const sumOf = (countIn: (one: ReplayAnswer) => number) =>
    replayed.reduce((sum, one) => sum + countIn(one), 0);
  const [events, duplicates] = [sumOf((one) => one.events), sumOf((one) => one.duplicates)];
  const again = sumOf((one) => one.again.length);
  const left = results.filter(({ outcome }) => outcome === 'refused' || outcome === 'unknown').length;
  return {
    done: results.length,
    summary: `${replayed.length} replayed: ${countOf(events, 'event')}, ${countOf(duplicates, 'duplicate')}, ${again} quarantined again; ${left} not replayed.`,
    failures: results.flatMap(({ outcome, again: anew, quarantine_id: id, reason }) =>
      outcome === 'replayed'
        ? anew.map((one) => ({ id: one.quarantine_id, reason: one.reason }))
        : [{ id, reason }],
    ),
  };
}
