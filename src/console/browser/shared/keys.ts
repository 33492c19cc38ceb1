import { html } from 'htm/preact';
import { showDialog } from './dialog.ts';
import { factsOf, type Fact } from './facts.ts';
import { openPalette } from './palette.ts';

// Keys of every page.

const KEYS: readonly (readonly [key: string, text: string])[] = [
  ['Ctrl K', 'go to a page, person, client, event or search'],
  ['/', 'go to the search line or, without one, same as Ctrl K'],
  ['j, k', 'next row, previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'close the open panel'],
  ['?', 'list the keys'],
];

document.addEventListener('keydown', (event) => {
  if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    openPalette();
    return;
  }
  const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') {
    event.preventDefault();
    const line = document.querySelector('#search-line');
    if (line instanceof HTMLElement) line.focus();
    else openPalette();
  } else if (
    event.key === ' ' &&
    event.target instanceof HTMLAnchorElement &&
    event.target.role === 'switch'
  ) {
    event.preventDefault();
    event.target.click();
  } else if (event.key === '?') showKeys();
  else if (event.key === 'j') move(1);
  else if (event.key === 'k') move(-1);
});

/** Focuses the link of another row of the lists on the page. */
export function move(step: number) {
  const rows = [...document.querySelectorAll('main tbody tr')].filter((row) => row.querySelector('a'));
  const isOpen = (row: Element) => row.querySelector('[aria-current]') !== null;
  const focused = rows.findIndex((row) => row.contains(document.activeElement));
  const here = focused === -1 ? rows.findIndex(isOpen) : focused;
  const next = here === -1 ? 0 : Math.max(0, Math.min(rows.length - 1, here + step));
  rows[next]?.querySelector('a')?.focus();
}

function showKeys() {
  const keys = KEYS.map(([key, text]): Fact => [html`<kbd>${key}</kbd>`, text]);
  void showDialog(
    'Keys',
    html`<h2>Keys</h2>
      ${factsOf(keys)}
      <form method="dialog"><button>Close</button></form>`,
  );
}
