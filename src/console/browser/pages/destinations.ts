// Reports the result of a test event, and resends rejected events in parts.

import type { resendChosen } from '../../destinations/rejected-events.ts';
import { chosenIds, finish } from '../shared/actions.ts';
import { postInParts } from '../shared/in-parts.ts';
import { notify } from '../shared/page.ts';

document.addEventListener('done', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement && event instanceof CustomEvent)) return;
  const { name, event_id: id, refusal } = event.detail;
  if (refusal === undefined) return;
  event.preventDefault();
  if (refusal === null) notify(`${name} accepted the test event ${id}.`);
  else notify(`${name} rejected the test event: ${refusal}`, 'bad');
});

type Answer = Awaited<ReturnType<typeof resendChosen>>;

const form = document.querySelector('form#rejected');
if (form instanceof HTMLFormElement) enable(form);

function enable(form: HTMLFormElement) {
  form.querySelector('[name="every"]')?.addEventListener('click', () => {
    void send({ all: true }, Number(form.dataset['total']));
  });
  form.querySelector('[name="some"]')?.addEventListener('click', () => {
    const ids = chosenIds(form);
    if (ids.length === 0) notify('Select at least one event.', 'bad');
    else void send({ ids }, ids.length);
  });

  async function send(chosen: object, count: number) {
    const resultsOf = (answers: readonly Answer[], isSent: boolean) =>
      answers.flatMap(({ results }) => results).filter(({ reason }) => (reason === null) === isSent);
    const path = `/destinations/${encodeURIComponent(form.dataset['name'] ?? '')}/replay`;
    const answers = await postInParts<Answer>(form, path, chosen, count, {
      verb: 'attempted',
      doneOf: (all) => resultsOf(all, true).length + resultsOf(all, false).length,
      sumUp(all) {
        const failed = resultsOf(all, false).length;
        return `${resultsOf(all, true).length} resent${failed === 0 ? '' : `, ${failed} failed`}.`;
      },
      failuresOf: (all) => resultsOf(all, false).map(({ event_id: id, reason }) => ({ id, reason })),
    });
    const sent = new Set(resultsOf(answers, true).map((one) => one.event_id));
    finish(form, (id) => sent.has(id));
  }
}
