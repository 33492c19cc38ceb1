import type { VNode } from 'preact';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { describeDestinations } from '../../store/describe-destinations.ts';
import type { ConfiguredDestination, DescribedDestination } from '../../store/describe-destinations.ts';
import type { Rejected } from '../../store/destinations.ts';
import { addressOf, eventAddress } from '../addresses.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { badge, durationOf, timeOf } from '../html/values.ts';
import { readRejected } from './rejected-events.ts';
import type { PageOfRejected } from './rejected-events.ts';

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

/** What the pages of destinations need. */
interface DestinationsPageOptions {
  readonly db: Db;
  readonly configured: readonly ConfiguredDestination[];
}

/** The list of destinations. */
export async function destinationsPage({ db, configured }: DestinationsPageOptions): Promise<Page> {
  const destinations = await describeDestinations(db, configured);
  return {
    title: 'Destinations',
    modules: ['destinations.js'],
    content:
      destinations.length === 0
        ? EMPTY
        : html`
            <p>
              Where events are forwarded to. Each has a place of its own, and one that is away holds up no
              other.
            </p>
            ${tableOf('Destinations', LIST_COLUMNS, destinations)}
          `,
  };
}

const EMPTY = html`
  <p class="empty">
    Events are forwarded nowhere. Set <code>FORWARD_TO</code>, for example to
    <code> syslog+tls://siem.example:6514?format=cef</code>, and start again: docs/forwarding.md tells of all
    kinds of destinations.
  </p>
`;

const LIST_COLUMNS: readonly Column<DescribedDestination>[] = [
  { heading: 'Name', cell: ({ name }) => html`<a href=${destinationAddress(name)}>${name}</a>` },
  { heading: 'State', cell: stateOf },
  { heading: 'Type', cell: ({ type, format }) => (type === null ? '' : `${type}, ${format}`) },
  { heading: 'Behind', cell: behindOf },
  { heading: 'Sent', kind: 'number', cell: sentOf },
  { heading: 'Last sent (UTC)', cell: lastSentOf },
  {
    heading: 'Refused events',
    kind: 'number',
    cell: ({ name, rejected }) =>
      rejected === null || rejected === 0
        ? '0'
        : html`<a href=${destinationAddress(name)}>${numberOf(rejected)}</a>`,
  },
  { heading: 'Last error', kind: 'wrap', cell: lastErrorOf },
  {
    heading: 'Do',
    cell: (one) =>
      one.state === 'not configured'
        ? forgetForm(one)
        : html`<div class="row tight">${stateForm(one)} ${testForm(one)}</div>`,
  },
];

const REJECTED_ON_A_PAGE = 50;

/** The page of one destination. Throws HttpError 404 when nobody knows it. */
export async function destinationPage(
  { db, configured }: DestinationsPageOptions,
  name: string,
  after: string | undefined,
): Promise<Page> {
  const described = (await describeDestinations(db, configured)).find((one) => one.name === name);
  if (described === undefined) {
    throw new HttpError(404, 'UNKNOWN_DESTINATION', `there is no destination "${name}"`);
  }
  const rejected = await readRejected(db, name, REJECTED_ON_A_PAGE, after);
  const isConfigured = described.state !== 'not configured';
  return {
    title: name,
    modules: ['destinations.js'],
    content: html`
      ${destinationFacts(described)}
      <h2>What to do</h2>
      ${
        isConfigured
          ? html`
              <div class="row">${stateForm(described)} ${testForm(described)}</div>
              ${rewindForms(described)}
            `
          : html`
              <p>It is not in the settings any more; retention waits for it until it is forgotten.</p>
              ${forgetForm(described)}
            `
      }
      <h2>Refused events</h2>
      ${rejectedOf(described, rejected, isConfigured)}
    `,
  };
}

const destinationFacts = (described: DescribedDestination): Content => html`
  <dl class="facts panel">
    <dt>State</dt>
    <dd>${stateOf(described)}</dd>
    <dt>Type</dt>
    <dd>${described.type === null ? 'not in the settings' : `${described.type}, as ${described.format}`}</dd>
    <dt>Behind</dt>
    <dd>${behindOf(described)}</dd>
    <dt>Sent</dt>
    <dd>${sentOf(described)}</dd>
    <dt>Last sent (UTC)</dt>
    <dd>${lastSentOf(described)}</dd>
    <dt>Last error</dt>
    <dd>${lastErrorOf(described)}</dd>
  </dl>
`;

const PRESETS = [
  ['now', 'now: leave out what is behind'],
  ['1h', 'an hour ago'],
  ['24h', 'a day ago'],
  ['7d', '7 days ago'],
  ['30d', '30 days ago'],
] as const;

/** Moving the place, to a time or by a preset. */
function rewindForms({ name }: DescribedDestination): Content {
  const action = `/destinations/${encodeURIComponent(name)}/rewind`;
  const question = `Move the place of ${name}? What was received from that time on is sent, again where it was sent before.`;
  return html`
    <h3>Go on from another time</h3>
    <div class="row forms">
      <form class="row" data-action=${action} data-confirm=${question} data-done="Its place is moved.">
        <label>
          Received from
          <select name="to">
            ${PRESETS.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
          </select>
        </label>
        <button class="quiet">Move</button>
      </form>
      <form class="row" data-action=${action} data-confirm=${question} data-done="Its place is moved.">
        <label>Received from (UTC) <input type="datetime-local" name="to" required /></label>
        <button class="quiet">Move</button>
      </form>
    </div>
  `;
}

const REJECTED_COLUMNS: readonly Column<Rejected>[] = [
  {
    heading: 'Event',
    cell: (one) => html`
      <a href=${eventAddress({ eventId: one.event_id, occurredAt: one.occurred_at.toISOString() })}>
        ${timeOf(one.occurred_at)}
      </a>
    `,
  },
  { heading: 'Type', cell: (one) => one.message_type },
  { heading: 'Refused (UTC)', cell: (one) => timeOf(one.rejected_at) },
  { heading: 'Reason', kind: 'wrap', cell: (one) => one.reason },
];

const CHECKBOX: Column<Rejected> = {
  heading: 'Choose',
  cell: (one) =>
    html`<input type="checkbox" name="ids" value=${one.event_id} aria-label=${`Choose ${one.event_id}`} />`,
};

function rejectedOf(
  { name, rejected }: DescribedDestination,
  { items, next }: PageOfRejected,
  canReplay: boolean,
): Content {
  if (items.length === 0) {
    return html`<p class="empty">
      It has refused no event that was not sent again. There is nothing to do.
    </p>`;
  }
  return html`
    <form id="rejected" data-name=${name} data-total=${rejected ?? 0}>
      <div class="row apart">
        <p>${numberOf(rejected ?? 0)} refused for what they say; all others were sent.</p>
        ${
          canReplay &&
          html`
            <div class="row">
              <button type="button" class="quiet" name="some">Send the chosen again</button>
              <button type="button" class="quiet" name="every">Send all again</button>
            </div>
          `
        }
      </div>
      <div id="outcome"></div>
      ${tableOf('Refused events', canReplay ? [CHECKBOX, ...REJECTED_COLUMNS] : REJECTED_COLUMNS, items)}
    </form>
    ${
      next !== undefined &&
      html`<p>
        <a class="button quiet" rel="next" href=${addressOf(destinationAddress(name), { cursor: next })}
          >More</a
        >
      </p>`
    }
  `;
}
