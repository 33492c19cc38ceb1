import { addressOf } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import type { Content } from './html.ts';
import { html } from './html.ts';

/** Links to the next page and back to the first, where there are any. `query` is the address's own. */
export function pagerOf(path: string, query: Query, next: string | undefined): Content {
  const isFirst = query['cursor'] === undefined;
  if (isFirst && next === undefined) return undefined;
  return html`
    <nav class="row" aria-label="Pages of the list">
      ${!isFirst && html`<a class="button quiet" href=${addressOf(path, { ...query, cursor: undefined })}>Newest</a>`}
      ${
        next !== undefined &&
        html`<a class="button quiet" rel="next" href=${addressOf(path, { ...query, cursor: next })}>Older</a>`
      }
    </nav>
  `;
}
