// Forms that change something: <form data-action="/destinations/siem/pause" data-confirm="..." data-done="paused">.
// The fields are sent to the API as JSON; a field named `ids[]` becomes a list, and `tls.ca` a member of `tls`. A button may
// have an action of its own. Afterwards the page is reloaded, or left for that of `data-then`, and shows the message, unless
// a listener of the event `done` on the form handles the answer (`event.preventDefault()`).

import { html } from 'htm/preact';
import { request } from './api.ts';
import { showDialog } from './dialog.ts';
import { notify } from './page.ts';
import { instantOf } from './local-time.ts';
import { zone } from './time-zone.ts';

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset['action'] === undefined) return;
  event.preventDefault();
  void submit(form, event.submitter?.dataset['action'] ?? form.dataset['action'], event.submitter);
});

async function submit(form: HTMLFormElement, action: string, submitter: HTMLElement | null) {
  const { confirm, done = 'Done.', then } = form.dataset;
  const label = submitter?.ariaLabel ?? submitter?.textContent ?? 'Continue';
  if (confirm !== undefined && !(await agree(confirm, label))) return;
  const buttons = [...form.querySelectorAll('button')];
  for (const button of buttons) button.disabled = true;
  try {
    const answer = await request(action, { method: 'POST', body: bodyOf(form) });
    const isUnhandled = form.dispatchEvent(
      new CustomEvent('done', { detail: answer, bubbles: true, cancelable: true }),
    );
    if (!isUnhandled) return;
    sessionStorage.setItem('notice', done);
    if (then === undefined) location.reload();
    else location.assign(then);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), 'bad');
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

function bodyOf(form: HTMLFormElement) {
  const body: Record<string, unknown> = {};
  const data = new FormData(form);
  for (const name of new Set(data.keys())) {
    if (name.endsWith('[]')) body[name.slice(0, -2)] = data.getAll(name);
    else if (data.get(name) !== '') body[name] = data.get(name);
  }
  for (const field of form.querySelectorAll('input')) {
    if (field.value === '') continue;
    if (field.dataset['time'] !== undefined) body[field.name] = instantOf(field.value, zone);
    else if (field.type === 'number') body[field.name] = field.valueAsNumber;
  }
  return nested(body);
}

/** The same with a member for the names before a dot. */
function nested(body: Readonly<Record<string, unknown>>) {
  const whole: Record<string, unknown> = {};
  const outer = Object.groupBy(Object.entries(body), ([name]) => (name.includes('.') ? 'inner' : 'own'));
  for (const [name, value] of outer.own ?? []) whole[name] = value;
  const groups = Object.groupBy(outer.inner ?? [], ([name]) => name.slice(0, name.indexOf('.')));
  for (const [name, members = []] of Object.entries(groups)) {
    whole[name] = Object.fromEntries(members.map(([path, value]) => [path.slice(name.length + 1), value]));
  }
  return whole;
}

/** Asks for confirmation. */
export async function agree(question: string, yes: string) {
  const answer = await showDialog(
    question,
    html`
      <p>${question}</p>
      <form method="dialog" class="row">
        <button value="yes" class="danger">${yes}</button>
        <button value="no" class="quiet">Cancel</button>
      </form>
    `,
  );
  return answer === 'yes';
}

/** The fields of a form with this name. */
export const fieldsOf = (form: HTMLFormElement, name: string) =>
  [...form.querySelectorAll('input')].filter((field) => field.name === name);

/** The selected ids of a list. */
export const chosenIds = (form: HTMLFormElement) =>
  fieldsOf(form, 'ids')
    .filter((field) => field.checked)
    .map((field) => field.value);

/** Takes the items of a list out of the choice: they are done. */
export function finish(form: HTMLFormElement, isDone: (id: string) => boolean) {
  for (const field of fieldsOf(form, 'ids')) {
    if (!isDone(field.value)) continue;
    field.checked = false;
    field.disabled = true;
  }
}

const kept = sessionStorage.getItem('notice');
if (kept !== null) {
  sessionStorage.removeItem('notice');
  notify(kept);
}
