/**
 * Tells the person what came of something; a screen reader says it, too. Good news goes away by itself.
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
