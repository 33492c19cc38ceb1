import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from './api.js';
import { notify } from './page.js';
import { exactText } from './local-time.js';
import { zone } from './time-zone.js';

// The list of a search opens an event beside it. J and K move on, Enter opens, Escape closes (keys.js lists all keys).
// On a phone, and for clicks that open a tab, an event is a page of its own.

/** @typedef {{ state: 'waiting' | 'proven' | 'altered', leaf: number | null, signed_at: string | null }} Seal */
/** @typedef {{ event: any, delivery: any, forwarding: any[], seal: Seal, title: string, sentence: string }} Detail */

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

const PHONE_PX = 560;

const list = document.querySelector('table.events tbody');
const place = document.createElement('div');
document.querySelector('main')?.append(place);

/** @type {HTMLElement | undefined} */
let current;

const rows = () => [...(list?.children ?? [])].filter((row) => row instanceof HTMLElement);

/** @param {HTMLElement | undefined} row */
function choose(row) {
  current?.removeAttribute('aria-selected');
  current = row;
  row?.setAttribute('aria-selected', 'true');
  row?.scrollIntoView({ block: 'nearest' });
}

/** @param {number} step */
function move(step) {
  const all = rows();
  const index = current === undefined ? -1 : all.indexOf(current);
  const next = all[Math.max(0, Math.min(all.length - 1, index + step))];
  choose(next);
  if (place.firstElementChild !== null) open(next);
  else linkOf(next)?.focus();
}

/** @param {HTMLElement | undefined} row */
const linkOf = (row) => row?.querySelector('a') ?? undefined;

/** @param {HTMLElement | undefined} row */
function open(row) {
  const link = linkOf(row);
  if (link === undefined) return;
  if (innerWidth <= PHONE_PX) {
    location.assign(link.href);
    return;
  }
  choose(row);
  // The address of the page leads back to the open event.
  history.replaceState(null, '', `#${idOf(link)}`);
  render(html`<${Drawer} key=${link.href} address=${new URL(link.href)} />`, place);
}

/** @param {HTMLAnchorElement} link */
const idOf = ({ pathname }) => pathname.slice(pathname.lastIndexOf('/') + 1);

function close() {
  if (place.firstElementChild === null) return;
  render(null, place);
  history.replaceState(null, '', location.pathname + location.search);
  linkOf(current)?.focus();
}

list?.addEventListener('click', (event) => {
  if (!(event instanceof MouseEvent) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = event.target instanceof Element ? event.target : null;
  const row = target?.closest('tr');
  if (!row || (target?.closest('a') && target.closest('a') !== linkOf(row))) return;
  event.preventDefault();
  open(row);
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  switch (event.key) {
    case 'ArrowDown':
    case 'ArrowUp':
      if (place.firstElementChild === null) return undefined;
      event.preventDefault();
      return move(event.key === 'ArrowDown' ? 1 : -1);
    case 'j':
      return move(1);
    case 'k':
      return move(-1);
    case 'Escape':
      return close();
    case 'Enter':
      if (event.target !== document.body) return undefined;
      return open(current);
    default:
      return undefined;
  }
});

const opened = rows().find((row) => {
  const link = linkOf(row);
  return link !== undefined && location.hash === `#${idOf(link)}`;
});
if (opened !== undefined && innerWidth > PHONE_PX) open(opened);

/** @param {{ address: URL }} props */
function Drawer({ address }) {
  const [detail, setDetail] = useState(/** @type {Detail | Error | undefined} */ (undefined));
  useEffect(() => {
    const stop = new AbortController();
    request(`${address.pathname}${address.search}`, { signal: stop.signal }).then(setDetail, (error) => {
      if (!stop.signal.aborted) setDetail(error);
    });
    return () => stop.abort();
  }, [address.href]);
  return html`
    <aside class="drawer" aria-label="Event">
      <p class="row apart">
        <a href=${address.href}>Page of this event</a>
        <button class="quiet" type="button" aria-label="Close" onClick=${close}>×</button>
      </p>
      ${detail === undefined && html`<p class="dim">Loading…</p>`}
      ${detail instanceof Error && html`<p class="note bad">Can't show this event: ${detail.message}</p>`}
      ${detail !== undefined && !(detail instanceof Error) && html`<${Event} ...${detail} />`}
    </aside>
  `;
}

/** @param {Detail} props */
function Event({ event, delivery, forwarding, seal, title, sentence }) {
  const columns = Object.entries(event.columns).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, one]),
  );
  const sent = forwarding.filter(({ outcome }) => outcome === 'sent' || outcome === 'resent');
  return html`
    <p class="mono dim">${exactText(event.occurred_at, zone)} ${zone}</p>
    <h2>${sentence}</h2>
    <p class="row">
      ${
        forwarding.length > 0 &&
        html`<a class=${`badge ${sent.length === forwarding.length ? 'good' : 'warn'}`} href="/destinations"
          >forwarded to ${sent.length} of ${forwarding.length}</a
        >`
      }
      <${SealBadge} ...${seal} />
    </p>
    <dl>
      <${Value} name="what happened" value=${title} />
      <${Value} name="type" value=${event.message_type} />
      ${columns.map(([name, value]) => html`<${Value} name=${name} value=${value} />`)}
      ${Object.entries(event.names ?? {}).map(
        ([name, value]) => value !== null && html`<${Value} name=${name} value=${value} />`,
      )}
      <${Value} name="source" value=${event.source} />
      <${Value} name="origin" value=${event.origin} />
      ${event.org_id !== null && html`<${Value} name="organization" value=${event.org_id} />`}
      <${Value} name="received" value=${exactText(event.received_at, zone)} />
      ${
        delivery !== null &&
        html`<dt>delivery</dt>
          <dd><a href=${`/deliveries/${event.delivery_id}`}>${event.delivery_id}</a></dd>`
      }
      ${forwarding.map(
        ({ destination, outcome, reason }) =>
          html`<${Value}
            name=${`to ${destination}`}
            value=${reason === null ? outcome : `${outcome}: ${reason}`}
          />`,
      )}
      ${seal.leaf !== null && html`<${Value} name="leaf of the seal" value=${String(seal.leaf)} />`}
      ${
        seal.signed_at !== null &&
        html`<${Value} name="in the checkpoint of" value=${exactText(seal.signed_at, zone)} />`
      }
    </dl>
    <details>
      <summary>Payload as received, ${Object.keys(event.payload).length} members</summary>
      <pre tabindex="0" aria-label="Payload">${JSON.stringify(event.payload, null, 2)}</pre>
    </details>
  `;
}

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

/** @param {{ name: string, value: string }} props */
function Value({ name, value }) {
  const key = KEY_OF.get(name);
  /** @param {string} sign */
  const address = (sign) => {
    const url = new URL(location.href);
    url.searchParams.append('q', `${sign}${key}:"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`);
    url.searchParams.delete('cursor');
    url.hash = '';
    return url.href;
  };
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => notify(`Copied ${value}`),
      () => notify('The browser did not allow copying.', 'bad'),
    );
  return html`
    <dt>${name.replaceAll('_', ' ')}</dt>
    <dd>
      <span>${value}</span>
      ${
        key !== undefined &&
        html`
          <a href=${address('')} title="Filter for this value" aria-label=${`Filter for ${value}`}>+</a>
          <a href=${address('-')} title="Filter out this value" aria-label=${`Filter out ${value}`}>−</a>
        `
      }
      <button type="button" title="Copy" aria-label=${`Copy ${value}`} onClick=${copy}>
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5 5h8v8H5zM3 11V3h8" /></svg>
      </button>
    </dd>
  `;
}
