import type { VNode } from 'preact';
import { addressOf, type Query } from '../addresses.ts';
import { zoneWord } from '../browser/local-time.js';
import { html, type Content } from './html.ts';
import { inZone } from './time-zone.ts';

/** A column of a table. */
export interface Column<Row> {
  /** `time`: the heading of times, which names the time zone, too. */
  readonly heading: string | { readonly time: string };
  readonly cell: (row: Row) => Content;
  readonly kind?: 'number' | 'wrap' | 'nowrap' | 'mark';
}

/**
 * A table that scrolls sideways if it is wider than the page; on a phone each row is a card with its headings. Screen
 * readers announce `caption`.
 */
export function tableOf<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): VNode {
  return inZone((zone) => {
    const labels = columns.map(({ heading }) =>
      typeof heading === 'string' ? heading : `${heading.time} (${zoneWord(zone)})`,
    );
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
        <table>
          <caption class="visually-hidden">
            ${caption}
          </caption>
          <thead>
            <tr>
              ${columns.map(({ kind }, index) => html`<th scope="col" class=${kind}>${labels[index]}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (row) => html`
                <tr>
                  ${columns.map(({ cell, kind }, index) => html`<td class=${kind} data-label=${labels[index]}>${cell(row)}</td>`)}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    `;
  });
}

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
