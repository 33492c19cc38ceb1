import { html } from 'htm/preact';
import { render } from 'preact';
import type { AppliedView } from '../../subscriptions/subscriptions-area.ts';
import { fetchPage } from '../shared/fetch-page.ts';

// Loads the plan of each source as soon as the cloud has answered, and tells how it was applied.

const PATIENCE_MS = 120_000;

for (const place of document.querySelectorAll('[data-load]')) void load(place);

async function load(place: Element) {
  const address = new URL(place.getAttribute('data-load') ?? '', location.href);
  try {
    const page = await fetchPage(address, AbortSignal.timeout(PATIENCE_MS));
    place.replaceChildren(...(page.querySelector('[data-load]')?.childNodes ?? []));
  } catch (error) {
    const status = place.querySelector('[role="status"]');
    status?.classList.add('note', 'bad');
    status?.replaceChildren(error instanceof Error ? error.message : String(error));
    place.querySelector('[hidden]')?.removeAttribute('hidden');
  }
}

document.addEventListener('done', (event) => {
  const place = event.target instanceof Element ? event.target.closest('[data-load]') : null;
  if (place === null || !(event instanceof CustomEvent) || event.detail.outcomes === undefined) return;
  event.preventDefault();
  const result = document.createElement('div');
  place.before(result);
  render(html`<${Result} ...${event.detail} />`, result);
  void load(place);
});

const Result = ({ outcomes, unfinished }: AppliedView) => html`
  <div class=${`note ${unfinished.length === 0 ? '' : 'bad'}`}>
    <p>
      ${unfinished.length === 0 ? `${outcomes.length} applied and confirmed by the cloud.` : `${unfinished.length} not applied. Apply the plan again to continue.`}
    </p>
    <ul>
      ${outcomes.map(
        ({ step, error }) =>
          html`<li>
            ${step.action} ${step.message_type}: ${error === null ? 'accepted' : `failed: ${error}`}
          </li>`,
      )}
      ${unfinished.map(({ step, reason }) => html`<li>${step.message_type} is still pending: ${reason}</li>`)}
    </ul>
  </div>
`;
