import { addressOf } from '../addresses.ts';
import type { Written } from '../api/query.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { PageOfEvents } from './conditions.ts';

/** Links to the next page and back to the newest events, where there are any. */
export function pagingLinks(path: string, written: Written, { next }: PageOfEvents): Content {
  const isFirst = written['cursor'] === undefined;
  if (isFirst && next === undefined) return undefined;
  return html`
    <nav class="row paging" aria-label="Pages of events">
      ${
        !isFirst &&
        html`<a class="button quiet" href=${addressOf(path, { ...written, cursor: undefined })}>Newest</a>`
      }
      ${
        next !== undefined &&
        html`<a class="button quiet" rel="next" href=${addressOf(path, { ...written, cursor: next })}
          >Older</a
        >`
      }
    </nav>
  `;
}
