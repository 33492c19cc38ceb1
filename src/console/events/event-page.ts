import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import { viewEvent, type StoredEvent } from '../../store/stored-event.ts';
import type { Seal } from '../../ledger/prove-event.ts';
import type { Delivery } from '../../store/search-deliveries.ts';
import type { Scope } from '../../store/scope.ts';
import { countOf, formatBytes, formatCount } from '../../units.ts';
import { clientAddress, deliveryAddress, searchAddress, userAddress } from '../addresses.ts';
import { readAsked } from '../api/route.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { tableOf } from '../browser/table.js';
import { exactTimeOf, timeOf, timeHeading } from '../html/time-zone.ts';
import { factsOf, type Fact } from '../browser/facts.js';
import { badge, factsPanel } from '../html/values.ts';
import { describeEvent, outcomeOf, type EventOutcome, type IsFiltered } from './describe-event.ts';
import { oneEvent } from './event-schemas.ts';
import { cellOf } from './event-table.ts';
import { sentenceOfEvent, titleOfEvent } from '../../event-words.ts';

/** The page of one event. */
export async function renderEvent(
  db: Db,
  scope: Scope,
  request: Request,
  isFiltered: IsFiltered,
): Promise<Page> {
  const { path, query } = readAsked(oneEvent, request);
  const { event, delivery, forwarding, seal } = await describeEvent(
    db,
    scope,
    path.event_id,
    query.at,
    isFiltered,
  );
  return {
    title: `Event of ${event.occurredAt.slice(0, 19).replace('T', ' ')}`,
    content: [
      html`<p>
        <bdi>${sentenceOfEvent(event)}</bdi>.
        <span class="dim">${titleOfEvent(event)}, ${event.messageType}</span>
      </p>`,
      relatedLinks(event),
      html`
        <div class="panels">
          ${factsPanel('Event', envelopeOf(event))} ${factsPanel('Columns', columnsOf(event))}
          ${deliveryPanel(event, delivery)} ${sealPanel(event, seal)}
        </div>
        <h2>Forwarding</h2>
        ${forwardingTable(forwarding)}
        <h2>Payload</h2>
        <pre tabindex="0" aria-label="Payload">${JSON.stringify(event.payload, null, 2)}</pre>
      `,
    ],
  };
}

const AROUND_MS = 60_000;

/** Links to what is related to an event. */
function relatedLinks(event: StoredEvent): Content {
  const { user, clientMac, apMac } = viewEvent(event);
  const at = Date.parse(event.occurredAt);
  const around = {
    since: new Date(at - AROUND_MS).toISOString(),
    until: new Date(at + AROUND_MS).toISOString(),
  };
  const day = { since: new Date(at - 86_400_000).toISOString(), until: around.until };
  return html`
    <nav class="row ways" aria-label="Related events">
      <a class="button quiet" href=${searchAddress(around)}>Events around this time</a>
      ${user !== null && html`<a class="button quiet" href=${userAddress(user, day)}>Timeline of ${user}</a>`}
      ${
        clientMac !== null &&
        html`<a class="button quiet" href=${clientAddress(clientMac, day)}>Timeline of ${clientMac}</a>`
      }
      ${
        apMac !== null &&
        html`<a class="button quiet" href=${searchAddress({ ...day, ap: apMac })}
          >Events of access point ${apMac}</a
        >`
      }
    </nav>
  `;
}

const envelopeOf = (event: StoredEvent): readonly Fact[] => [
  [timeHeading('Occurred'), exactTimeOf(event.occurredAt)],
  [timeHeading('Received'), exactTimeOf(event.receivedAt)],
  ['Type', event.messageType],
  ['Source', event.source],
  ['Event ID', html`<code>${event.eventId}</code>`],
  ['Number', event.id],
  ['Owner', event.ownerId],
  ['Organization', event.orgId],
  ['Origin', event.origin],
];

function columnsOf({ columns }: StoredEvent): readonly Fact[] {
  const filled = Object.entries(columns).filter(([, value]) => value !== null);
  const empty = Object.keys(columns).filter((name) => columns[name] === null);
  return [
    ...filled.map(([name, value]): Fact => [name, cellOf(name, value)]),
    ...(empty.length === 0
      ? []
      : [['Empty columns', html`<span class="dim">${empty.join(', ')}</span>`] as const]),
  ];
}

/** The delivery that contained an event, and the receipt that its sender got. */
function deliveryPanel({ deliveryId }: StoredEvent, delivery: Delivery | undefined): Content {
  const id: Fact = [
    'Delivery ID',
    html`<a href=${deliveryAddress(deliveryId)}><code>${deliveryId}</code></a>`,
  ];
  if (delivery === undefined) return factsPanel('Delivery', [id, ['Details', 'dropped by retention']]);
  const { expected_count: expected, event_count: stored, duplicate_count: duplicates } = delivery;
  const quarantined = formatCount(delivery.quarantined_count);
  const facts: readonly Fact[] = [
    id,
    [timeHeading('Received'), exactTimeOf(delivery.received_at)],
    [timeHeading('Stored'), exactTimeOf(delivery.stored_at)],
    ['Size', formatBytes(delivery.body_bytes)],
    ['Secret sent as', delivery.secret_form],
    ['Origin', delivery.origin],
    [
      'Result',
      `${formatCount(expected)} expected: ${formatCount(stored)} stored, ${countOf(duplicates, 'duplicate')}, ${quarantined} quarantined`,
    ],
  ];
  const receipt = html`
    <h3>Receipt</h3>
    ${factsOf([
      ['delivery_id', html`<code>${deliveryId}</code>`],
      ['records', formatCount(delivery.record_count)],
      [
        'quarantined',
        delivery.quarantined_count === 0
          ? '0'
          : `at most ${quarantined} (records rejected while storing are not in the receipt)`,
      ],
    ])}
  `;
  return factsPanel('Delivery', facts, receipt);
}

/** Whether the row is what was sealed, and how to prove it to someone else. */
function sealPanel({ eventId }: StoredEvent, seal: Seal): Content {
  switch (seal.state) {
    case 'waiting':
      return factsPanel('Seal', [['State', 'not sealed yet: within a minute while serve runs']]);
    case 'altered':
      return factsPanel('Seal', [
        ['State', badge('bad', 'altered')],
        ['Leaf', formatCount(seal.leaf)],
        ['What to do', html`The row is not what was sealed. See <a href="/integrity">Integrity</a>.`],
      ]);
    case 'proven':
      return factsPanel('Seal', [
        ['State', badge('good', 'proven unchanged')],
        ['Leaf', formatCount(seal.proof.leaf)],
        [timeHeading('Checkpoint of'), exactTimeOf(seal.proof.signedAt)],
        ['Prove to others', html`<code>xiq-sink prove ${eventId}</code>`],
      ]);
  }
}

/** Whether each destination received an event. */
function forwardingTable(forwarding: readonly EventOutcome[]): Content {
  if (forwarding.length === 0) {
    return html`<p class="empty">No destinations are configured. Set <code>FORWARD_TO</code> to add one.</p>`;
  }
  return [
    tableOf(
      'Forwarding of this event',
      [
        { heading: 'Destination', cell: ({ destination }) => destination },
        { heading: 'This event', cell: outcomeBadge },
        { heading: 'Destination state', cell: ({ state }) => state },
        { heading: 'Reason', kind: 'wrap', cell: ({ reason }) => reason },
        { heading: { time: 'Rejected' }, cell: ({ rejectedAt }) => rejectedAt && timeOf(rejectedAt) },
        { heading: { time: 'Resent' }, cell: ({ replayedAt }) => replayedAt && timeOf(replayedAt) },
      ],
      forwarding,
    ),
    html`<p class="dim">
      Events stored before a destination was added count as sent, unless its filter excludes them.
    </p>`,
  ];
}

function outcomeBadge(one: EventOutcome): Content {
  const outcome = outcomeOf(one);
  switch (outcome) {
    case 'sent':
    case 'resent':
      return badge('good', outcome);
    case 'filtered':
      return badge('plain', 'excluded by the filter');
    case 'rejected':
      return badge('bad', 'rejected by the destination');
    case 'waiting':
      return one.state === 'running' ? badge('plain', 'not yet') : badge('warn', `not yet: ${one.state}`);
  }
}
