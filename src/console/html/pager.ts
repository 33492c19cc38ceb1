import { addressOf, type Query } from '../addresses.ts';
import { html, type Content } from './html.ts';

/** Links to the next page of a list and back to the first, if there are any. `query` is that of this page. */
export function pagerOf(path: string, query: Query, next: string | undefined): Content {
  const isFirst = query['cursor'] === undefined;
  if (isFirst && next === undefined) return undefined;
  return html`
    <nav class="row paging" aria-label="Pages of the list">
      ${!isFirst && html`<a class="button quiet" href=${addressOf(path, { ...query, cursor: undefined })}>Newest</a>`}
      ${
        next !== undefined &&
        html`<a class="button quiet" rel="next" href=${addressOf(path, { ...query, cursor: next })}>Older</a>`
      }
    </nav>
  `;
}
