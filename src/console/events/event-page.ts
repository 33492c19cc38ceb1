import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import { viewEvent } from '../../store/stored-event.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { clientAddress, searchAddress, userAddress } from '../addresses.ts';
import { readAsked } from '../api/route.ts';
import { factsPanel } from '../html/facts.ts';
import type { Fact } from '../html/facts.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { exactTimeOf } from '../html/time.ts';
import { deliveryPanel } from './delivery-panel.ts';
import { describeEvent } from './describe-event.ts';
import type { IsFiltered } from './describe-event.ts';
import { cellOf, summaryOf } from './event-cells.ts';
import { oneEvent } from './event-routes.ts';
import { forwardingTable } from './forwarding-table.ts';

/** Everything of one event. */
export async function renderEvent(db: Db, request: Request, isFiltered: IsFiltered): Promise<Page> {
  const { path, query } = readAsked(oneEvent, request);
  const { event, delivery, forwarding } = await describeEvent(db, path.event_id, query.at, isFiltered);
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
