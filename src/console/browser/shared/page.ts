// What every page runs: the sidebar scrolls to the current entry, times show more on hovering, notices appear.

import { localText } from './local-time.ts';
import { reveal } from './reveal.ts';
import { zone } from './time-zone.ts';

function showHere() {
  document.querySelector('#pages [aria-current]')?.scrollIntoView({ block: 'nearest' });
}

showHere();
addEventListener('resize', showHere);

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long', timeZone: zone });

document.addEventListener('pointerover', (event) => {
  if (!(event.target instanceof HTMLTimeElement) || event.target.title !== '') return;
  const time = new Date(event.target.dateTime);
  event.target.title = `${format.format(time)}\n${localText(time, 'UTC')} UTC`;
});

/** Closes the open menus but the one around an element. */
function closeMenus(around?: EventTarget | null) {
  const open = [...document.querySelectorAll('details.picker[open]')];
  const others = open.filter((menu) => !(around instanceof Node && menu.contains(around)));
  for (const menu of others) menu.removeAttribute('open');
  return others;
}

document.addEventListener('pointerdown', ({ target }) => void closeMenus(target));

// A menu closes before the drawer does, and its button has the focus again.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented) return;
  const [menu] = closeMenus();
  if (menu === undefined) return;
  event.preventDefault();
  menu.querySelector('summary')?.focus();
});

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (!(button instanceof HTMLElement)) return;
  const text = button.dataset['copy'] ?? '';
  navigator.clipboard.writeText(text).then(
    () => notify('Copied.'),
    () => notify('The browser did not allow copying.', 'bad'),
  );
});

/** Shows a message, which screen readers announce too. Good news disappears after a few seconds, and any on a click. */
export function notify(text: string, kind: 'good' | 'bad' = 'good') {
  const notice = document.createElement('div');
  notice.className = `notice ${kind}`;
  notice.textContent = reveal(text);
  const dismiss = () => notice.remove();
  notice.addEventListener('click', dismiss);
  document.querySelector('#notices')?.append(notice);
  if (kind === 'good') setTimeout(dismiss, 6_000);
}
