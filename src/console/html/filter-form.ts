import type { VNode } from 'preact';
import type { Entered } from '../api/parameters.ts';
import { html, type Content } from './html.ts';
import { rangePicker } from './range-picker.ts';

/** The form above a list that filters it: the time range, and `fields`, its other conditions. */
export const filterForm = (path: string, label: string, entered: Entered, fields: Content): VNode => html`
  <form class="filters" method="get" action=${path} role="search" aria-label=${label}>
    ${rangePicker(path, entered)} ${fields}
    <button>Search</button>
    <a class="button quiet" href=${path}>Clear</a>
  </form>
`;
