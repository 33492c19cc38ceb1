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
    const path = `/destinations/${encodeURIComponent(form.dataset['name'] ?? '')}/replay`;
    const answers = await postInParts<Answer>(form, path, chosen, count, 'attempted', (all) => {
      const results = all.flatMap((answer) => answer.results);
      const failures = results
        .filter(({ reason }) => reason !== null)
        .map(({ event_id: id, reason }) => ({ id, reason }));
      const failed = failures.length === 0 ? '' : `, ${failures.length} failed`;
      return {
        done: results.length,
        failures,
        summary: `${results.length - failures.length} resent${failed}.`,
      };
    });
    const results = answers.flatMap((answer) => answer.results);
    const sent = new Set(results.flatMap(({ event_id: id, reason }) => (reason === null ? [id] : [])));
    finish(form, (id) => sent.has(id));
  }
}
