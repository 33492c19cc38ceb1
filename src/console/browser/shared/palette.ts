import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SavedSearch } from '../../events/saved-searches.ts';
import type { Directory } from '../../people/directory-schemas.ts';
import { request } from './api.ts';
import { showDialog } from './dialog.ts';

// The command palette: Ctrl K opens it on every page. It leads to pages, people, devices, events, searches and saved searches.
// The choice of the source in the top bar is one of its kinds.

interface Entry {
  readonly kind: string;
  readonly label: string;
  readonly href: string;
}

const DELAY_MS = 150;
const MOST_SEEN = 4;

const EVERYTHING = 'Page, person, source, MAC address, event id or text';

const sourceSwitch = document.querySelector('a[data-sources]');
const chosen = new URLSearchParams(location.search).get('source') ?? '';

/** Opens the palette, unless a dialog is open. `useEntries` finds what a text leads to, by default everything. */
export function openPalette(title = 'Go to', label = EVERYTHING, useEntries = useEverything) {
  if (document.querySelector('dialog') !== null) return;
  void showDialog(title, html`<${Palette} label=${label} useEntries=${useEntries} />`, 'palette');
}

document.querySelector('.opener')?.addEventListener('click', (event) => {
  event.preventDefault();
  openPalette();
});

sourceSwitch?.addEventListener('click', (event) => {
  event.preventDefault();
  openPalette('Source', 'Part of a source name', (text) => matching(sources(), text));
});

function useEverything(text: string) {
  const [seen, setSeen] = useState<readonly Entry[]>([]);
  const [saved, setSaved] = useState<readonly Entry[]>([]);
  useEffect(() => {
    // Not every visitor may search.
    void savedSearches().then(setSaved, () => undefined);
  }, []);
  useEffect(() => {
    setSeen([]);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // What cannot be suggested now is still found by the search.
      void seenFor(text, stop.signal).then(setSeen, () => undefined);
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const named = text.trim() === '' ? [] : matching(sources(), text);
  return [...matching(pages(), text), ...named, ...matching(saved, text), ...placesFor(text, seen), ...seen];
}

function Palette({ label, useEntries }: { label: string; useEntries: (text: string) => readonly Entry[] }) {
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const entries = useEntries(text);
  const at = Math.min(selected, entries.length - 1);
  const list = useRef<HTMLElement | null>(null);

  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);

  function onKey(event: KeyboardEvent) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setSelected((at + step + entries.length) % Math.max(1, entries.length));
    }
    const entry = entries[at];
    // The field would be cleared first, and the palette stay.
    if (event.key === 'Escape') {
      event.preventDefault();
      list.current?.closest('dialog')?.close('');
    }
    if (event.key === 'Enter' && entry !== undefined) location.assign(entry.href);
  }

  return html`
    <input
      type="search"
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${entries.length > 0 ? `palette-${at}` : undefined}
      aria-label=${label}
      placeholder=${label}
      autocomplete="off"
      spellcheck="false"
      value=${text}
      onInput=${(event: InputEvent) => {
        if (event.target instanceof HTMLInputElement) setText(event.target.value);
        setSelected(0);
      }}
      onKeyDown=${onKey}
    />
    <ul id="palette-list" role="listbox" aria-label="Go to" ref=${list}>
      ${entries.map(
        ({ kind, label, href }, index) => html`
          <li
            key=${`${kind} ${href}`}
            id=${`palette-${index}`}
            role="option"
            aria-selected=${index === at}
            onClick=${() => location.assign(href)}
          >
            <span>${label}</span> <span class="dim">${kind}</span>
          </li>
        `,
      )}
    </ul>
  `;
}

/** The entries whose label contains the text. */
function matching(entries: readonly Entry[], text: string) {
  return entries.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()));
}

/** The pages of the navigation, and the events as they arrive. */
function pages() {
  return [...document.querySelectorAll<HTMLAnchorElement>('#pages a')].flatMap((link) => {
    const page = { kind: 'page', label: link.querySelector('span')?.textContent ?? '', href: link.href };
    return link.pathname === '/events'
      ? [page, { ...page, label: 'Live', href: addressOf('/events', { live: 'on' }) }]
      : [page];
  });
}

/** All sources, and each: the address of the page with it. */
function sources() {
  if (!(sourceSwitch instanceof HTMLAnchorElement)) return [];
  const names: readonly string[] = JSON.parse(sourceSwitch.dataset['sources'] ?? '[]');
  return ['', ...names].map((name) => {
    const { origin, pathname, searchParams } = new URL(sourceSwitch.href);
    if (name === '') searchParams.delete('source');
    else searchParams.set('source', name);
    const kind = name === chosen ? 'chosen' : 'source';
    return { kind, label: name || 'All sources', href: `${origin}${pathname}?${searchParams}` };
  });
}

/** The address of a page, or of a question to the API, that keeps the chosen source. */
const addressOf = (path: string, parameters: Readonly<Record<string, string>>) =>
  `${path}?${new URLSearchParams({ ...parameters, ...(chosen !== '' && { source: chosen }) })}`;

/** The searches that people saved, as far as the visitor may see them. */
async function savedSearches() {
  const { items } = await request<{ readonly items: readonly SavedSearch[] }>('/saved-searches');
  return items.map(({ name, line, since, until }) => {
    const range = { ...(since !== null && { since }), ...(until !== null && { until }) };
    return { kind: 'saved search', label: name, href: addressOf('/events', { q: line, ...range }) };
  });
}

const EVENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The event that the text names, the client of a MAC address that no event has named yet, and the search for the text. */
function placesFor(text: string, seen: readonly Entry[]): Entry[] {
  const asked = text.trim();
  if (asked === '') return [];
  const digits = asked.replaceAll(/[-.:]/g, '').toLowerCase();
  // A key makes it a search line; anything else is a text.
  const isLine = /^-?[a-z]+:\S/i.test(asked);
  const q = isLine ? asked : JSON.stringify(asked);
  return [
    ...(EVENT_ID.test(asked)
      ? [{ kind: 'event', label: asked, href: `/events/${asked.toLowerCase()}` }]
      : []),
    ...(/^[0-9a-f]{12}$/.test(digits) && seen.length === 0
      ? [{ kind: 'client', label: asked, href: addressOf('/devices/client', { mac: asked }) }]
      : []),
    {
      kind: 'search',
      label: isLine ? `Events: ${asked}` : `Events with “${asked}”`,
      href: addressOf('/events', { q }),
    },
  ];
}

/** People and devices whose name or MAC address begins with the text. */
async function seenFor(text: string, signal: AbortSignal): Promise<Entry[]> {
  const q = text.trim();
  if (q.length < 2) return [];
  const limit = String(MOST_SEEN);
  const lists = await Promise.all(
    ['/people', '/devices'].map((path) => request<Directory>(addressOf(path, { q, limit }), { signal })),
  );
  const entries = lists.flatMap(({ items }) =>
    items.map((entry) => ({ kind: entry.kind, label: entry.name, href: addressOfEntry(entry) })),
  );
  // An administrator who is a user, too, has one page.
  return [...new Map(entries.map((entry) => [entry.href, entry])).values()];
}

/** The page of an entry of the directory of people or devices. */
function addressOfEntry({ kind, key, name }: Directory['items'][number]) {
  if (kind === 'client') return addressOf('/devices/client', { mac: key });
  if (kind === 'access point') return addressOf('/devices/access-point', { mac: key });
  return addressOf('/people/user', { name });
}
