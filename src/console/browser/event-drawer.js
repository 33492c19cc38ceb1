import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from './api.js';
import { EventDetail } from './event-detail.js';

// The list of a search opens an event beside it. J and K move on, Enter opens, Escape closes (keys.js lists all keys).
// On a phone, and for clicks that open a tab, an event is a page of its own.

/** @typedef {import('./event-detail.js').Detail} Detail */

const PHONE_PX = 560;

const list = document.querySelector('table.events tbody');
const place = document.querySelector('#drawer');

const isOpen = () => place !== null && place.firstElementChild !== null;

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
  if (isOpen()) open(next);
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
  if (place === null) return;
  // The address of the page leads back to the open event.
  history.replaceState(null, '', `#${idOf(link)}`);
  render(html`<${Drawer} key=${link.href} address=${new URL(link.href)} />`, place);
}

/** @param {HTMLAnchorElement} link */
const idOf = ({ pathname }) => pathname.slice(pathname.lastIndexOf('/') + 1);

function close() {
  if (!isOpen()) return;
  if (place !== null) render(null, place);
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
      if (!isOpen()) return undefined;
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
      ${detail !== undefined && !(detail instanceof Error) && html`<${EventDetail} ...${detail} search=${location.pathname + location.search} />`}
    </aside>
  `;
}
