import { fetchPage } from '../shared/fetch-page.ts';

// Filters the directory as one types. Without this module the form does the same when it is sent.

const DELAY_MS = 100;
const form = document.querySelector('form[data-filters]');

let stop = new AbortController();
let timer = 0;

async function list(form: HTMLFormElement) {
  stop.abort();
  stop = new AbortController();
  const { signal } = stop;
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value.trim() !== '') address.searchParams.set(name, value.trim());
  }
  try {
    const found = (await fetchPage(address, signal)).querySelector('[data-directory] > *');
    if (found === null) throw new Error('the query is invalid');
    document.querySelector('[data-directory]')?.replaceChildren(...(found.parentNode?.childNodes ?? []));
    history.replaceState(null, '', address);
  } catch {
    // The server says what is wrong.
    if (!signal.aborted) form.submit();
  }
}

form?.addEventListener('input', () => {
  clearTimeout(timer);
  if (form instanceof HTMLFormElement) timer = window.setTimeout(() => void list(form), DELAY_MS);
});
