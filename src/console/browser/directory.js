import { html } from 'htm/preact';
import { render } from 'preact';
import { request } from './api.js';
import { DirectoryList } from './directory-list.js';

// Filters the directory as one types. Without this module the form does the same when it is sent.

const DELAY_MS = 100;

const place = document.querySelector('[data-directory]');
const form = document.querySelector('form[data-filters]');
if (place instanceof HTMLElement && form instanceof HTMLFormElement) follow(place, form);

/**
 * @param {HTMLElement} place
 * @param {HTMLFormElement} form
 */
function follow(place, form) {
  const path = place.dataset['directory'] === '/people' ? '/people' : '/devices';
  let stop = new AbortController();
  let timer = 0;
  let isOfServer = true;

  async function list() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    const query = Object.fromEntries(
      [...new FormData(form)].flatMap(([name, value]) =>
        typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
      ),
    );
    const asked = new URLSearchParams(query);
    try {
      const found = await request(`${path}?${asked}`, { signal });
      // Attributes of the list that the server rendered would stay where this one has none.
      if (isOfServer) place.replaceChildren();
      isOfServer = false;
      render(
        html`<${DirectoryList} path=${path} query=${query} list=${found} now=${new Date().toISOString()} />`,
        place,
      );
      history.replaceState(null, '', asked.size === 0 ? path : `${path}?${asked}`);
    } catch {
      // The server says what is wrong.
      if (!signal.aborted) form.submit();
    }
  }

  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void list(), DELAY_MS);
  });
}
