// Shows what an action returned and the page cannot show again: a generated secret, or the result of a reload.

document.addEventListener('done', (event) => {
  const form = event.target;
  const place = document.querySelector('.shown');
  if (!(form instanceof HTMLFormElement) || !(event instanceof CustomEvent) || place === null) return;
  if (form.dataset['secret'] !== undefined && typeof event.detail.secret === 'string') {
    event.preventDefault();
    const { name, secret } = event.detail;
    show(place, `The new secret of ${name}, shown only now:`, [secret]);
    form.reset();
  }
  if (form.dataset['reload'] !== undefined) {
    event.preventDefault();
    const { changed, needs_restart: later, errors } = event.detail;
    show(place, 'Settings reloaded.', [
      ...changed.map((/** @type {string} */ one) => `changed: ${one}`),
      ...later.map((/** @type {string} */ one) => `needs a restart: ${one}`),
      ...errors.map((/** @type {string} */ one) => `failed: ${one}`),
    ]);
  }
});

/**
 * @param {Element} place
 * @param {string} title
 * @param {string[]} lines
 */
function show(place, title, lines) {
  const text = document.createElement('p');
  text.textContent = title;
  const list = document.createElement('ul');
  list.append(
    ...lines.map((line) => {
      const item = document.createElement('li');
      const code = document.createElement('code');
      code.textContent = line;
      item.append(code);
      return item;
    }),
  );
  const link = document.createElement('a');
  link.href = location.pathname;
  link.textContent = 'Continue';
  place.replaceChildren(text, list, link);
  place.scrollIntoView();
}
