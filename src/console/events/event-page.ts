import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import type { EventForwarding } from '../../store/event-forwarding.ts';
import { viewEvent } from '../../store/event-view.ts';
import type { StoredDelivery } from '../../store/find-delivery.ts';
import type { StoredEvent } from '../../store/read-events.ts';
import { clientAddress, deliveryAddress, searchAddress, userAddress } from '../addresses.ts';
import { readAsked } from '../api/route.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import { badge, exactTimeOf, factsOf, factsPanel, timeOf } from '../html/values.ts';
import type { Fact } from '../html/values.ts';
import { describeEvent, outcomeOf } from './describe-event.ts';
import { oneEvent } from './event-schemas.ts';
import { cellOf, summaryOf } from './event-table.ts';

/** Everything of one event. */
export async function renderEvent(db: Db, request: Request): Promise<Page> {
  const { path, query } = readAsked(oneEvent, request);
  const { event, delivery, forwarding } = await describeEvent(db, path.event_id, query.at);
  return {
    title: `Event of ${event.occurredAt.slice(0, 19).replace('T', ' ')}`,
    content: [
      html`<p>${event.messageType}${summaryOf(event) !== '' && `: ${summaryOf(event)}`}</p>`,
      ways(event),
      html`
        <div class="panels">
          ${factsPanel('Event', envelopeOf(event))} ${factsPanel('Columns', columnsOf(event))}
          ${deliveryPanel(event, delivery)}
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

/** Where one goes on from an event. */
function ways(event: StoredEvent): Content {
  const { user, clientMac, apMac } = viewEvent(event);
  const at = Date.parse(event.occurredAt);
  const around = {
    since: new Date(at - AROUND_MS).toISOString(),
    until: new Date(at + AROUND_MS).toISOString(),
  };
  const day = { since: new Date(at - 86_400_000).toISOString(), until: around.until };
  return html`
    <nav class="row ways" aria-label="From this event">
      <a class="button quiet" href=${searchAddress(around)}>Events around it</a>
      ${user !== null && html`<a class="button quiet" href=${userAddress(user, day)}>Timeline of ${user}</a>`}
      ${
        clientMac !== null &&
        html`<a class="button quiet" href=${clientAddress(clientMac, day)}>Timeline of ${clientMac}</a>`
      }
      ${
        apMac !== null &&
        html`<a class="button quiet" href=${searchAddress({ ...day, ap: apMac })}
          >At access point ${apMac}</a
        >`
      }
    </nav>
  `;
}

const envelopeOf = (event: StoredEvent): readonly Fact[] => [
  ['Occurred', exactTimeOf(event.occurredAt)],
  ['Received', exactTimeOf(event.receivedAt)],
  ['Type', event.messageType],
  ['Source', event.source],
  ['Event id', html`<code>${event.eventId}</code>`],
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
    ...(empty.length === 0 ? [] : [['Empty', html`<span class="dim">${empty.join(', ')}</span>`] as const]),
  ];
}

/** The delivery that brought an event, and the receipt that its sender got. */
export function deliveryPanel({ deliveryId }: StoredEvent, delivery: StoredDelivery | undefined): Content {
  const id: Fact = [
    'Delivery id',
    html`<a href=${deliveryAddress(deliveryId)}><code>${deliveryId}</code></a>`,
  ];
  if (delivery === undefined) return factsPanel('Delivery', [id, ['Kept', 'no longer']]);
  const { expected_count: expected, event_count: stored, duplicate_count: duplicates } = delivery;
  const quarantined = numberOf(delivery.quarantined_count);
  const facts: readonly Fact[] = [
    id,
    ['Received', exactTimeOf(delivery.received_at)],
    ['Stored', exactTimeOf(delivery.stored_at)],
    ['Size', bytesOf(delivery.body_bytes)],
    ['Form of the secret', delivery.secret_form],
    ['Origin', delivery.origin],
    [
      'Rows',
      `${numberOf(expected)} expected: ${numberOf(stored)} stored, ${numberOf(duplicates)} stored before, ${quarantined} quarantined`,
    ],
  ];
  const receipt = html`
    <h3>Receipt that the sender got</h3>
    ${factsOf([
      ['delivery_id', html`<code>${deliveryId}</code>`],
      ['records', numberOf(delivery.record_count)],
      [
        'quarantined',
        delivery.quarantined_count === 0
          ? '0'
          : `${quarantined}, or less: what only storing refuses is counted too`,
      ],
    ])}
  `;
  return factsPanel('Delivery', facts, receipt);
}

/** How an event stands with each destination. */
export function forwardingTable(forwarding: readonly EventForwarding[]): Content {
  if (forwarding.length === 0) {
    return html`<p class="empty">
      No destinations are set up. The setting <code>FORWARD_TO</code> names one.
    </p>`;
  }
  return [
    tableOf(
      'Where the event was forwarded to',
      [
        { heading: 'Destination', cell: ({ destination }) => destination },
        { heading: 'This event', cell: outcomeBadge },
        { heading: 'Destination now', cell: ({ state }) => state },
        { heading: 'Reason', kind: 'wrap', cell: ({ reason }) => reason },
        { heading: 'Refused', cell: ({ rejectedAt }) => rejectedAt && timeOf(rejectedAt) },
        { heading: 'Sent again', cell: ({ replayedAt }) => replayedAt && timeOf(replayedAt) },
      ],
      forwarding,
    ),
    html`<p class="dim">
      Passed means sent, unless the destination's filter leaves the event out or it was set up to begin behind
      it.
    </p>`,
  ];
}

function outcomeBadge(one: EventForwarding): Content {
  const outcome = outcomeOf(one);
  switch (outcome) {
    case 'passed':
    case 'sent again':
      return badge('good', outcome);
    case 'refused':
      return badge('bad', 'refused by the destination');
    case 'waiting':
      return one.state === 'running' ? badge('plain', 'not yet') : badge('warn', `not yet: ${one.state}`);
  }
}
