import { html } from 'htm/preact';
import { hydrate } from 'preact';
import { SearchLine } from './search-line.ts';

// The search line of the page, as the server drew it.

const place = document.querySelector('[data-search-line]');
if (place instanceof HTMLElement) {
  hydrate(html`<${SearchLine} ...${JSON.parse(place.dataset['searchLine'] ?? '{}')} />`, place);
}
