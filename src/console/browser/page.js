// What every page runs: the sidebar scrolls to the current entry, times show the local time, notices appear.

function showHere() {
  document.querySelector('#pages [aria-current]')?.scrollIntoView({ block: 'nearest' });
}

showHere();
addEventListener('resize', showHere);

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

document.addEventListener('pointerover', (event) => {
  if (!(event.target instanceof HTMLTimeElement) || event.target.title !== '') return;
  event.target.title = format.format(new Date(event.target.dateTime));
});

/**
 * Shows a message, which screen readers announce too. Good news disappears after a few seconds.
 *
 * @param {string} text
 * @param {'good' | 'bad'} kind
 */
export function notify(text, kind = 'good') {
  const notice = document.createElement('div');
  notice.className = `notice ${kind}`;
  notice.textContent = text;
  document.querySelector('#notices')?.append(notice);
  if (kind === 'good') setTimeout(() => notice.remove(), 6_000);
  else notice.addEventListener('click', () => notice.remove());
}
