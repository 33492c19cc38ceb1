import type { z } from 'zod';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { clientAddress, deliveryAddress, searchAddress, userAddress } from '../addresses.ts';
import { searchWith } from '../browser/events/search-address.ts';
import { factsOf, type Fact } from '../browser/shared/facts.ts';
import { exactText } from '../browser/shared/local-time.ts';
import { badge, exactTimeOf } from '../html/elements.ts';
import { html, type Content } from '../html/html.ts';
import { inZone } from '../html/time-zone.ts';
import type { eventDetailSchema } from './describe-event.ts';
import { DAY_MS } from '../../lib/clock.ts';

type Detail = z.input<typeof eventDetailSchema>;

/** Columns that the search line has a key for. */
const KEY_OF = new Map([
  ['type', 'type'],
  ['source', 'source'],
  ['origin', 'origin'],
  ['organization', 'org'],
  ['user_name', 'user'],
  ['username', 'user'],
  ['client_mac', 'client'],
  ['ap_mac', 'ap'],
  ['ssid', 'ssid'],
  ['code', 'code'],
  ['host_names', 'device'],
  ['device_serial_number', 'device'],
  ['alert_source_name', 'device'],
]);
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** All that is known of one event. Without `search`, the address that filters are added to, it is a page of its own. */
export const eventDetail = (detail: Detail, search: string | undefined): Content =>
  inZone((zone) => {
    const { event, delivery, forwarding, seal, title, sentence } = detail;
    const sent = forwarding.filter(({ outcome }) => outcome === 'sent' || outcome === 'resent');
    const isPage = search === undefined;
    const kind = isPage && 'panel';
    const fact = (name: string, value: string | null): Fact | false =>
      value !== null && [
        name.replaceAll('_', ' '),
        valueOf(
          value,
          INSTANT.test(value) ? exactText(value, zone) : value,
          KEY_OF.get(name),
          search ?? '/events',
        ),
      ];
    return html`
      <div class=${isPage ? 'event panels broad' : 'event'}>
        <header>
          <p class="mono dim">${exactText(event.occurred_at, zone)} ${zone}</p>
          <h2>${sentence}</h2>
          <p class="row">
            ${
              forwarding.length > 0 &&
              html`<a
                class=${`badge ${sent.length === forwarding.length ? 'good' : 'warn'}`}
                href="/destinations"
                >forwarded to ${sent.length} of ${forwarding.length}</a
              >`
            }
            <a class=${`badge ${SEALS[seal.state][0]}`} href="/integrity">${SEALS[seal.state][1]}</a>
          </p>
        </header>
        <section class=${kind}>
          ${factsOf([
            fact('what happened', title),
            fact('type', event.message_type),
            ...Object.entries({ ...event.columns, ...event.names }).flatMap(([name, value]) =>
              [value ?? []].flat().map((one) => fact(name, one)),
            ),
            fact('source', event.source),
            fact('origin', event.origin),
            fact('organization ID', event.org_id),
            fact('owner', event.owner_id),
            fact('received', exactText(event.received_at, zone)),
            fact('event ID', event.event_id),
          ])}
        </section>
        <section class=${kind}>
          <h3>Delivery</h3>
          ${factsOf([
            ['delivery ID', html`<a href=${deliveryAddress(event.delivery_id)}>${event.delivery_id}</a>`],
            ...deliveryFacts(delivery),
          ])}
          <h3>Forwarding</h3>
          ${
            forwarding.length === 0
              ? html`<p class="dim">No <a href="/destinations">destination</a> receives this event.</p>`
              : factsOf(forwarding.map((one) => [one.destination, outcomeOf(one)]))
          }
          ${
            seal.leaf !== null &&
            html`<h3>Seal</h3>
              ${factsOf([
                ['leaf', formatCount(seal.leaf)],
                seal.signed_at !== null && ['checkpoint of', exactTimeOf(seal.signed_at)],
                seal.state === 'proven' && fact('prove to others', `xiq-sink prove ${event.event_id}`),
              ])}`
          }
          ${related(event)}
        </section>
        <details class=${kind} open=${isPage}>
          <summary>Payload as received, ${Object.keys(event.payload).length} members</summary>
          <pre tabindex="0" aria-label="Payload">${JSON.stringify(event.payload, null, 2)}</pre>
        </details>
      </div>
    `;
  });

/** A value that can be filtered for, filtered out, and copied by page.ts. */
const valueOf = (value: string, text: string, filter: string | undefined, search: string): Content => html`
  <span class="row apart value">
    <span>${text}</span>
    <span class="ways">
      ${
        filter !== undefined &&
        html`
          <a
            href=${searchWith(search, filter, value)}
            title="Filter for this value"
            aria-label=${`Filter for ${value}`}
            >+</a
          >
          <a
            href=${searchWith(search, filter, value, true)}
            title="Filter out this value"
            aria-label=${`Filter out ${value}`}
            >−</a
          >
        `
      }
      <button type="button" title="Copy" aria-label=${`Copy ${value}`} data-copy=${value}>
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5 5h8v8H5zM3 11V3h8" /></svg>
      </button>
    </span>
  </span>
`;

const SEALS = {
  waiting: ['plain', 'not sealed yet'],
  proven: ['good', 'sealed, unchanged'],
  altered: ['bad', 'altered after sealing'],
} as const;

function deliveryFacts(delivery: Detail['delivery']): readonly Fact[] {
  if (delivery === null) return [['details', 'dropped by retention']];
  const { event_count: stored, duplicate_count: duplicates, quarantined_count: quarantined } = delivery;
  return [
    ['received', exactTimeOf(delivery.received_at)],
    ['stored', exactTimeOf(delivery.stored_at)],
    ['size', `${countOf(delivery.body_bytes, 'byte')}, ${countOf(delivery.record_count, 'record')}`],
    ['authentication', delivery.secret_form],
    ['result', `${stored} stored, ${duplicates} duplicates, ${quarantined} quarantined`],
  ];
}

/** Whether a destination received the event. Events stored before it was added count as sent. */
function outcomeOf({
  outcome,
  state,
  reason,
  rejected_at,
  replayed_at,
}: Detail['forwarding'][number]): Content {
  const words = {
    sent: badge('good', 'sent'),
    resent: badge('good', 'resent'),
    filtered: badge('plain', 'excluded by the filter'),
    rejected: badge('bad', 'rejected by the destination'),
    waiting: state === 'running' ? badge('plain', 'not yet') : badge('warn', `not yet: ${state}`),
  };
  return html`
    ${words[outcome]} ${reason}
    ${rejected_at !== null && html`<span class="dim">rejected ${exactTimeOf(rejected_at)}</span>`}
    ${replayed_at !== null && html`<span class="dim">resent ${exactTimeOf(replayed_at)}</span>`}
  `;
}

const AROUND_MS = 60_000;

function related({ occurred_at, columns }: Detail['event']): Content {
  const at = Date.parse(occurred_at);
  const isoAt = (time: number) => new Date(time).toISOString();
  const around = { since: isoAt(at - AROUND_MS), until: isoAt(at + AROUND_MS) };
  const day = { ...around, since: isoAt(at - DAY_MS) };
  const [user, client, ap] = [
    columns['username'] ?? columns['user_name'],
    columns['client_mac'],
    columns['ap_mac'],
  ];
  const link = (text: string, href: string) => html`<a class="button quiet" href=${href}>${text}</a>`;
  return html`
    <nav class="row" aria-label="Related events">
      ${link('Events around this time', searchAddress(around))}
      ${typeof user === 'string' && user !== '' && link(`Timeline of ${user}`, userAddress(user, day))}
      ${typeof client === 'string' && link(`Timeline of ${client}`, clientAddress(client, day))}
      ${typeof ap === 'string' && link(`Events of access point ${ap}`, searchAddress({ q: `ap:${ap}`, ...day }))}
    </nav>
  `;
}
