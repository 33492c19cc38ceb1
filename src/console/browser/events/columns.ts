import { fieldsOf } from '../shared/actions.ts';
import { keep } from '../shared/cookie.ts';

// Keeps the chosen columns of the list of events. The server knows them by a cookie, so that the first paint is right.

const form = document.querySelector('form[data-columns]');
form?.addEventListener('submit', (event) => {
  event.preventDefault();
  if (!(form instanceof HTMLFormElement)) return;
  const chosen = fieldsOf(form, 'column').filter(({ checked }) => checked);
  const names = chosen.map(({ value }) => value).join('.');
  if (keep(form.dataset['columns'] ?? '', names)) location.reload();
});
