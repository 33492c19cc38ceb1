import { html } from 'htm/preact';
import { useContext } from 'preact/hooks';
import { factsOf } from './facts.js';
import { exactText } from './local-time.js';
import { searchWith } from './search-address.js';
import { Zone } from './zone.js';

// All that is known of one event: beside the list of a search, and as a page. The server draws it too, so this module
// must not access the page.

/**
 * @typedef {{ state: 'waiting' | 'proven' | 'altered', leaf: number | null, signed_at: Date | string | null }} Seal
 * @typedef {{ destination: string, outcome: string, state: string, reason: string | null,
 *   rejected_at: Date | string | null, replayed_at: Date | string | null }} Forwarding
 * @typedef {{ event: any, delivery: any, forwarding: readonly Forwarding[], seal: Seal, title: string,
 *   sentence: string }} Detail as the API answers it
 * @typedef {import('./facts.js').Fact} Fact
 */

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

const AROUND_MS = 60_000;
const DAY_MS = 86_400_000;

const numbers = new Intl.NumberFormat('en');

/** @param {Detail & { search: string, isPage?: boolean }} props `search`: the address that filters are added to */
export function EventDetail({ event, delivery, forwarding, seal, title, sentence, search, isPage = false }) {
  const zone = useContext(Zone);
  /** @param {Date | string | null} time */
  const when = (time) => time && exactText(time, zone);
  const sent = forwarding.filter(({ outcome }) => outcome === 'sent' || outcome === 'resent');
  /** @type {readonly [name: string, value: string][]} */
  const columns = Object.entries({ ...event.columns, ...event.names }).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => /** @type {[string, string]} */ ([name, String(one)])),
  );
  /** @type {(name: string, value: string | null | undefined) => Fact | false} */
  const fact = (name, value) =>
    value !== null &&
    value !== undefined && [
      name.replaceAll('_', ' '),
      html`<${Value}
        value=${value}
        text=${INSTANT.test(value) ? exactText(value, zone) : value}
        filter=${KEY_OF.get(name)}
        search=${search}
      />`,
    ];
  return html`
    <div class=${isPage ? 'event page' : 'event'}>
      <header>
        <p class="mono dim">${when(event.occurred_at)} ${zone}</p>
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
          <${SealBadge} ...${seal} />
        </p>
      </header>
      <section>
        ${factsOf([
          fact('what happened', title),
          fact('type', event.message_type),
          ...columns.map(([name, value]) => fact(name, value)),
          fact('source', event.source),
          fact('origin', event.origin),
          fact('organization', event.org_id),
          fact('owner', event.owner_id),
          fact('received', when(event.received_at)),
          fact('event ID', event.event_id),
        ])}
      </section>
      <section>
        <h3>Delivery</h3>
        ${factsOf([
          ['delivery ID', html`<a href=${`/deliveries/${event.delivery_id}`}>${event.delivery_id}</a>`],
          ...deliveryFacts(delivery, when),
        ])}
        <h3>Forwarding</h3>
        ${
          forwarding.length === 0
            ? html`<p class="dim">No destinations are configured. Set <code>FORWARD_TO</code> to add one.</p>`
            : factsOf(forwarding.map((one) => [one.destination, outcomeOf(one, when)]))
        }
        ${
          seal.leaf !== null &&
          html`<h3>Seal</h3>
            ${factsOf([
              ['leaf', numbers.format(seal.leaf)],
              seal.signed_at !== null && ['checkpoint of', when(seal.signed_at)],
              seal.state === 'proven' && fact('prove to others', `xiq-sink prove ${event.event_id}`),
            ])}`
        }
        <${Related} event=${event} />
      </section>
      <details open=${isPage}>
        <summary>Payload as received, ${Object.keys(event.payload).length} members</summary>
        <pre tabindex="0" aria-label="Payload">${JSON.stringify(event.payload, null, 2)}</pre>
      </details>
    </div>
  `;
}

/** @param {{ value: string, text: string, filter: string | undefined, search: string }} props page.js copies the value */
const Value = ({ value, text, filter, search }) => html`
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

/** @param {Seal} props */
function SealBadge({ state }) {
  /** @type {readonly [kind: string, text: string]} */
  const [kind, text] =
    state === 'waiting'
      ? ['plain', 'not sealed yet']
      : state === 'proven'
        ? ['good', 'sealed, unchanged']
        : ['bad', 'altered since it was sealed'];
  return html`<a class=${`badge ${kind}`} href="/integrity">${text}</a>`;
}

/**
 * The delivery that contained the event.
 *
 * @param {any} delivery null if retention has dropped it
 * @param {(time: Date | string) => import('./table.js').Content} when
 * @returns {readonly Fact[]}
 */
function deliveryFacts(delivery, when) {
  if (delivery === null) return [['details', 'dropped by retention']];
  const { event_count: stored, duplicate_count: duplicates, quarantined_count: quarantined } = delivery;
  return [
    ['received', when(delivery.received_at)],
    ['stored', when(delivery.stored_at)],
    ['size', `${numbers.format(delivery.body_bytes)} bytes, ${delivery.record_count} in the receipt`],
    ['secret sent as', delivery.secret_form],
    ['result', `${stored} stored, ${duplicates} duplicates, ${quarantined} quarantined`],
  ];
}

/**
 * Whether a destination received the event. Events stored before it was added count as sent.
 *
 * @param {Forwarding} forwarding
 * @param {(time: Date | string) => import('./table.js').Content} when
 */
function outcomeOf({ outcome, state, reason, rejected_at: rejected, replayed_at: resent }, when) {
  /** @type {Readonly<Record<string, readonly [kind: string, text: string]>>} */
  const words = {
    sent: ['good', 'sent'],
    resent: ['good', 'resent'],
    filtered: ['plain', 'excluded by the filter'],
    rejected: ['bad', 'rejected by the destination'],
    waiting: state === 'running' ? ['plain', 'not yet'] : ['warn', `not yet: ${state}`],
  };
  const [kind, text] = words[outcome] ?? ['plain', outcome];
  return html`
    <span class=${`badge ${kind}`}>${text}</span> ${reason}
    ${rejected !== null && html`<span class="dim">rejected ${when(rejected)}</span>`}
    ${resent !== null && html`<span class="dim">resent ${when(resent)}</span>`}
  `;
}

/** @param {{ event: any }} props */
function Related({ event }) {
  const at = Date.parse(event.occurred_at);
  const until = new Date(at + AROUND_MS).toISOString();
  const around = { since: new Date(at - AROUND_MS).toISOString(), until };
  const day = { since: new Date(at - DAY_MS).toISOString(), until };
  const {
    user_name: administrator,
    username = administrator,
    client_mac: client,
    ap_mac: ap,
  } = event.columns;
  /** @type {(text: string, path: string, query: Record<string, string>) => import('preact').VNode} */
  const link = (text, path, query) =>
    html`<a class="button quiet" href=${`${path}?${new URLSearchParams(query)}`}>${text}</a>`;
  return html`
    <nav class="row" aria-label="Related events">
      ${link('Events around this time', '/events', around)}
      ${username && link(`Timeline of ${username}`, '/people/user', { name: username, ...day })}
      ${client && link(`Timeline of ${client}`, '/people/client', { mac: client, ...day })}
      ${ap && link(`Events of access point ${ap}`, '/events', { ap, ...day })}
    </nav>
  `;
}
