import { request } from './api.js';

// Keys and suggestions of the search line: Backspace edits the last chip, and the values of a key are suggested while it
// is typed.

/** The keys whose values are suggested. */
const SUGGESTED = new Set([
  'type',
  'action',
  'outcome',
  'user',
  'client',
  'ap',
  'ssid',
  'source',
  'origin',
  'code',
]);

const DELAY_MS = 150;

const input = document.querySelector('#search-line');
const list = document.querySelector('#suggestions');
const rail = document.querySelector('[data-facets]');
if (input instanceof HTMLInputElement) {
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Backspace' || input.value !== '') return;
    const chip = [...document.querySelectorAll('.chip:has([name="q"])')].at(-1);
    const hidden = chip?.querySelector('input');
    if (!hidden) return;
    event.preventDefault();
    input.value = hidden.value;
    chip?.remove();
  });
  let timer = 0;
  let asked = '';
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void suggest(input.value), DELAY_MS);
  });

  /** @param {string} text */
  const suggest = async (text) => {
    const [, minus = '', key = '', prefix = ''] = /(?:^|\s)(-?)([a-z]+):([^\s",*]{1,})$/.exec(text) ?? [];
    const path = rail instanceof HTMLElement ? rail.dataset['facets'] : undefined;
    if (list === null || path === undefined || !SUGGESTED.has(key)) return;
    asked = text;
    const address = new URL(path, location.origin);
    const before = address.searchParams.get('q') ?? '';
    const isExact = key === 'code' || key === 'origin' || key === 'outcome' || key === 'action';
    address.searchParams.set('q', isExact ? before : `${before} ${key}:"${prefix}"*`.trim());
    address.searchParams.set('facet', key);
    // A value that is incomplete may be invalid: there is nothing to suggest yet.
    const answer = await request(`${address.pathname}${address.search}`).catch(() => ({ values: [] }));
    if (asked !== text) return;
    const start = text.slice(0, text.length - prefix.length - key.length - 1 - minus.length);
    list.replaceChildren(
      ...answer.values.map((/** @type {{ value: string, count: number }} */ { value, count }) => {
        const option = document.createElement('option');
        option.value = `${start}${minus}${key}:${/[\s",*]/.test(value) ? JSON.stringify(value) : value}`;
        option.label = `${value} (${count})`;
        return option;
      }),
    );
  };
}
