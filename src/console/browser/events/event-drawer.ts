import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fetchPage } from '../shared/fetch-page.ts';
import { move } from '../shared/keys.ts';

// The list of a search opens an event beside it. The keys of all lists move on (keys.ts), and so do the
// arrows; Enter opens, Escape closes.
// On a phone, and for clicks that open a tab, an event is a page of its own.

const PHONE_PX = 560;

const list = document.querySelector('table.events tbody');
const place = document.querySelector('#drawer');

/** The link of the open event. */
let shown: HTMLAnchorElement | undefined;

const links = () =>
  [...(list?.children ?? [])].map((row) => row.querySelector('a')).filter((link) => link !== null);

const idOf = ({ pathname }: HTMLAnchorElement) => pathname.slice(pathname.lastIndexOf('/') + 1);

/** Draws the event that the address of the page names, or none. */
function draw() {
  const last = shown;
  const link = links().find((one) => location.hash === `#${idOf(one)}`);
  if (place === null || link === last) return;
  shown = link;
  last?.removeAttribute('aria-current');
  link?.setAttribute('aria-current', 'true');
  render(link && html`<${Drawer} key=${link.href} address=${new URL(link.href)} />`, place);
  // The list stays where it is, unless the row is out of sight.
  (link ?? last)?.focus({ preventScroll: true });
  link?.closest('tr')?.scrollIntoView({ block: 'nearest' });
}

/** The drawer is a step of the history of the browser: Back closes it, and leaves the list where it is. */
const OPEN = { drawer: true };
history.scrollRestoration = 'manual';

/** Shows the event of a link; undefined closes the drawer. */
function show(link: HTMLAnchorElement | undefined) {
  if (link === shown) return;
  if (link === undefined && history.state?.drawer) {
    history.back();
    return;
  }
  const address = link ? `#${idOf(link)}` : location.pathname + location.search;
  if (shown === undefined) history.pushState(OPEN, '', address);
  else history.replaceState(history.state, '', address);
  draw();
}

addEventListener('popstate', draw);

list?.addEventListener('click', (event) => {
  if (!(event instanceof MouseEvent) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = event.target instanceof Element ? event.target : null;
  const link = target?.closest('tr')?.querySelector('a');
  if (!link || (target?.closest('a') ?? link) !== link) return;
  event.preventDefault();
  if (innerWidth <= PHONE_PX) location.assign(link.href);
  else show(link);
});

// With the drawer open, it follows from row to row.
list?.addEventListener('focusin', ({ target }) => {
  if (shown !== undefined && target instanceof HTMLAnchorElement && links().includes(target)) show(target);
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea');
  if (isTyping || shown === undefined || event.defaultPrevented) return;
  if (event.key === 'Escape') show(undefined);
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  move(event.key === 'ArrowDown' ? 1 : -1);
});

if (innerWidth > PHONE_PX) draw();

function Drawer({ address }: { address: URL }) {
  const [detail, setDetail] = useState<Element | Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const page = new URL(address);
    page.searchParams.set('search', location.pathname + location.search);
    fetchPage(page, stop.signal).then(
      (shown) => setDetail(shown.querySelector('.event')),
      (error) => {
        if (!stop.signal.aborted) setDetail(error);
      },
    );
    return () => stop.abort();
  }, [address.href]);
  return html`
    <aside class="drawer" aria-label="Event">
      <p class="row apart">
        <a href=${address.href}>Page of this event</a>
        <button class="quiet" type="button" aria-label="Close" onClick=${() => show(undefined)}>×</button>
      </p>
      ${detail === null && html`<p class="dim">Loading…</p>`}
      ${detail instanceof Error && html`<p class="note bad">Can't show this event: ${detail.message}</p>`}
      ${detail instanceof Element && html`<div ref=${(at: Element | null) => at?.replaceChildren(detail)}></div>`}
    </aside>
  `;
}
