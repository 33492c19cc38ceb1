import { html } from 'htm/preact';
import { render } from 'preact';
import type { Reloaded } from '../../settings/settings-area.ts';
import { localText } from '../shared/local-time.ts';
import { zone } from '../shared/time-zone.ts';

// Shows what an action returned and the page cannot show again: a generated secret or the link of an invitation, or the
// result of a reload or of the test of a rule.

document.addEventListener('done', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !(event instanceof CustomEvent)) return;
  const { name, secret, address } = event.detail;
  const shown = typeof address === 'string' ? new URL(address, location.href).href : secret;
  if (form.dataset['secret'] !== undefined && typeof shown === 'string') {
    event.preventDefault();
    show(form, `The new ${form.dataset['secret']} of ${name}, shown only once:`, [shown], name);
    form.reset();
  }
  if (typeof event.detail.summary === 'string') {
    event.preventDefault();
    show(form, event.detail.summary, event.detail.lines ?? event.detail.newest.map(withLocalTimes));
  }
  if (form.dataset['reload'] !== undefined) {
    event.preventDefault();
    const { changed, needs_restart: later, errors }: Reloaded = event.detail;
    show(form, 'Settings reloaded.', [
      ...changed.map((one) => `changed: ${one}`),
      ...later.map((one) => `needs a restart: ${one}`),
      ...errors.map((one) => `failed: ${one}`),
    ]);
  }
});

/** A sentence with its instants in ISO 8601 as times of the reader. */
const withLocalTimes = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => localText(new Date(time), zone));

function show(form: HTMLFormElement, title: string, lines: readonly string[], name = '') {
  const place = document.querySelector('.shown');
  if (place === null) return;
  const next = form.dataset['secret'] === 'secret' ? `/sources/${name}` : location.pathname;
  render(
    html`
      <p>${title}</p>
      <ul>
        ${lines.map((line) => html`<li><code>${line}</code></li>`)}
      </ul>
      ${
        form.dataset['secret'] === 'secret' &&
        html`<p>
          If the source has API credentials, <a href="/subscriptions">apply its subscriptions</a> next.
          Otherwise, enter the secret in the cloud's webhook.
        </p>`
      }
      ${form.dataset['then'] === undefined && html`<a href=${next}>Continue</a>`}
    `,
    place,
  );
  place.scrollIntoView();
}
