import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { request } from './api.js';

// The command palette: Ctrl K opens it on every page. It leads to pages, people, clients, events, searches and saved searches.

/** @typedef {{ kind: string, label: string, href: string }} Entry */

const DELAY_MS = 150;
const MOST_PEOPLE = 6;

/** Opens the palette, unless it is open. */
export function openPalette() {
  if (document.querySelector('dialog.palette') !== null) return;
  const dialog = document.createElement('dialog');
  dialog.className = 'palette';
  dialog.setAttribute('aria-label', 'Go to');
  dialog.addEventListener('close', () => {
    render(null, dialog);
    dialog.remove();
  });
  render(html`<${Palette} />`, dialog);
  document.body.append(dialog);
  dialog.showModal();
}

function Palette() {
  const [text, setText] = useState('');
  const [people, setPeople] = useState(/** @type {readonly Entry[]} */ ([]));
  const [saved, setSaved] = useState(/** @type {readonly Entry[]} */ ([]));
  const [chosen, setChosen] = useState(0);
  const entries = [...matching(pages(), text), ...matching(saved, text), ...placesFor(text), ...people];
  const at = Math.min(chosen, entries.length - 1);
  const list = useRef(/** @type {HTMLElement | null} */ (null));

  useEffect(() => {
    // Not every visitor may search.
    void savedSearches().then(setSaved, () => undefined);
  }, []);
  useEffect(() => {
    setPeople([]);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // What cannot be suggested now is still found by the search.
      void peopleFor(text, stop.signal).then(setPeople, () => undefined);
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((at + step + entries.length) % Math.max(1, entries.length));
    }
    const entry = entries[at];
    if (event.key === 'Enter' && entry !== undefined) location.assign(entry.href);
  }

  return html`
    <input
      type="search"
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${entries.length > 0 ? `palette-${at}` : undefined}
      aria-label="Page, person, MAC address, event id or text"
      placeholder="Page, person, MAC address, event id or text"
      autocomplete="off"
      spellcheck="false"
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => {
        if (event.target instanceof HTMLInputElement) setText(event.target.value);
        setChosen(0);
      }}
      onKeyDown=${onKey}
    />
    <ul id="palette-list" role="listbox" aria-label="Go to" ref=${list}>
      ${entries.map(
        ({ kind, label, href }, index) => html`
          <li
            key=${href}
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

/**
 * The entries whose label contains the text.
 *
 * @param {readonly Entry[]} entries
 * @param {string} text
 */
function matching(entries, text) {
  return entries.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()));
}

/** The pages of the navigation. */
function pages() {
  const links = [...document.querySelectorAll('#pages a')].filter(
    (link) => link instanceof HTMLAnchorElement,
  );
  return links.map((link) => ({
    kind: 'page',
    label: link.querySelector('span')?.textContent ?? '',
    href: link.href,
  }));
}

/** The searches that people saved, as far as the visitor may see them. */
async function savedSearches() {
  /** @type {{ items: { name: string, line: string, since: string | null, until: string | null }[] }} */
  const { items } = await request('/saved-searches');
  return items.map(({ name, line, since, until }) => {
    const query = new URLSearchParams({ q: line });
    if (since !== null) query.set('since', since);
    if (until !== null) query.set('until', until);
    return { kind: 'saved search', label: name, href: `/events?${query}` };
  });
}

const EVENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The event or client that the text names, and the search for the text.
 *
 * @param {string} text
 * @returns {Entry[]}
 */
function placesFor(text) {
  const asked = text.trim();
  if (asked === '') return [];
  const digits = asked.replaceAll(/[-.:]/g, '').toLowerCase();
  // A key makes it a search line; anything else is a text.
  const isLine = /^-?[a-z]+:\S/i.test(asked);
  const query = new URLSearchParams({ q: isLine ? asked : JSON.stringify(asked) });
  return [
    ...(EVENT_ID.test(asked)
      ? [{ kind: 'event', label: asked, href: `/events/${asked.toLowerCase()}` }]
      : []),
    ...(/^[0-9a-f]{12}$/.test(digits)
      ? [{ kind: 'client', label: asked, href: `/people/client?${new URLSearchParams({ mac: asked })}` }]
      : []),
    {
      kind: 'search',
      label: isLine ? `Events: ${asked}` : `Events with “${asked}”`,
      href: `/events?${query}`,
    },
  ];
}

/**
 * People of the last 30 days whose name begins with the text.
 *
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Entry[]>}
 */
async function peopleFor(text, signal) {
  const asked = text.trim();
  if (asked.length < 2 || /["\\*]/.test(asked)) return [];
  const query = new URLSearchParams({
    facet: 'user',
    limit: String(MOST_PEOPLE),
    since: '30d',
    q: `user:"${asked}"*`,
  });
  /** @type {{ values: { value: string }[] }} */
  const { values } = await request(`/events/facets?${query}`, { signal });
  return values.map(({ value }) => ({
    kind: 'person',
    label: value,
    href: `/people/user?${new URLSearchParams({ name: value })}`,
  }));
}
