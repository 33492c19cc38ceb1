import { HttpError } from '../../errors.ts';
import { describeDestinations } from '../../store/destinations.ts';
import type { DescribedDestination } from '../../store/destinations.ts';
import type { Rejected } from '../../store/rejected-events.ts';
import { addressOf, eventAddress } from '../addresses.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import {
  behindOf,
  destinationAddress,
  forgetForm,
  lastErrorOf,
  lastSentOf,
  sentOf,
  stateForm,
  stateOf,
  testForm,
} from './destination-cells.ts';
import type { DestinationsOptions } from './destinations-options.ts';
import { readRejected } from './page-of-rejected.ts';
import type { PageOfRejected } from './page-of-rejected.ts';

const REJECTED_ON_A_PAGE = 50;

/** The page of one destination. Throws HttpError 404 when nobody knows it. */
export async function destinationPage(
  { db, configured }: DestinationsOptions,
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
      ${factsOf(described)}
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

const factsOf = (described: DescribedDestination): Content => html`
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

const COLUMNS: readonly Column<Rejected>[] = [
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
      ${tableOf('Refused events', canReplay ? [CHECKBOX, ...COLUMNS] : COLUMNS, items)}
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
