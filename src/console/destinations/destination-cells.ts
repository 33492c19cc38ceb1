import type { VNode } from 'preact';
import type { DescribedDestination } from '../../store/destinations.ts';
import { badge } from '../html/badge.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { numberOf } from '../html/number.ts';
import { durationOf, timeOf } from '../html/time.ts';

/** The page of a destination. */
export const destinationAddress = (name: string) => `/destinations/${encodeURIComponent(name)}`;

/** How a destination is. */
export function stateOf({ state, last_error: lastError }: DescribedDestination): VNode {
  switch (state) {
    case 'running':
      // What it takes clears the error.
      return lastError === null ? badge('good', state) : badge('warn', 'running, tries again');
    case 'paused':
      return badge('warn', state);
    case 'refused':
      return badge('bad', 'refuses us');
    case 'not started':
    case 'not configured':
      return badge('plain', state);
  }
}

/** How far behind a destination is, in events and in time. */
export function behindOf({
  behind,
  behind_is_least: isLeast,
  behind_since: since,
}: DescribedDestination): string {
  if (behind === null) return 'not known';
  if (behind === 0) return 'nothing';
  const age = since === null ? '' : `, ${durationOf((Date.now() - since.getTime()) / 1_000)}`;
  return `${isLeast ? 'over ' : ''}${numberOf(behind)} ${behind === 1 ? 'event' : 'events'}${age}`;
}

/** What went wrong last, and when. */
export function lastErrorOf({ last_error: error, last_error_at: at }: DescribedDestination): Content {
  if (error === null) return html`<span class="dim">none</span>`;
  return [error, at !== null && html` <span class="dim">(${timeOf(at)})</span>`];
}

/** How many events went there. */
export const sentOf = ({ sent }: DescribedDestination) =>
  sent === null ? html`<span class="dim">none</span>` : numberOf(Number(sent));

/** When one last went there. */
export const lastSentOf = ({ last_sent_at: at }: DescribedDestination): Content =>
  at === null ? html`<span class="dim">never</span>` : timeOf(at);

/** Pausing, or resuming. */
export function stateForm({ name, state }: DescribedDestination): Content {
  const path = `/destinations/${encodeURIComponent(name)}`;
  if (state === 'paused' || state === 'refused') {
    return html`
      <form data-action=${`${path}/resume`} data-done=${`${name} goes on within a second.`}>
        <button class="quiet" aria-label=${`Resume ${name}`}>Resume</button>
      </form>
    `;
  }
  return html`
    <form
      data-action=${`${path}/pause`}
      data-confirm=${`Stop forwarding to ${name}? Its place is kept.`}
      data-done=${`${name} is paused.`}
    >
      <button class="quiet" aria-label=${`Pause ${name}`}>Pause</button>
    </form>
  `;
}

/** Sending a test event; browser/destinations.js tells what came back. */
export const testForm = ({ name }: DescribedDestination): Content => html`
  <form data-action=${`/destinations/${encodeURIComponent(name)}/test`} data-test=${name}>
    <button class="quiet" aria-label=${`Send a test event to ${name}`}>Test</button>
  </form>
`;

/** Removing what is remembered. */
export const forgetForm = ({ name }: DescribedDestination): Content => html`
  <form
    data-action=${`/destinations/${encodeURIComponent(name)}/forget`}
    data-confirm=${`Forget ${name}? Its place and what it has refused are removed for good.`}
    data-done=${`${name} is forgotten.`}
  >
    <button class="danger" aria-label=${`Forget ${name}`}>Forget</button>
  </form>
`;
