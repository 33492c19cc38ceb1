import { html } from 'htm/preact';
import { zoneWord } from './local-time.ts';
import { Zone } from './zone.ts';
import type { VNode } from 'preact';

// The table of the console. The server draws it too, so this module must not access the page.

export type Content = VNode | string | number | null | undefined | false | readonly Content[];

/** A column of a table. */
export interface Column<Row> {
  /** `time`: the heading of times, which names the time zone, too. */
  readonly heading: string | { readonly time: string };
  readonly cell: (row: Row) => Content;
  readonly kind?: 'number' | 'wrap' | 'nowrap' | 'mark' | 'days' | 'mono nowrap' | undefined;
  /** The link that sorts the rows by this column, and their order if they are. */
  readonly sort?: { readonly href: string; readonly order: 'ascending' | 'descending' | undefined };
  /** Without its heading beside the value on a phone. */
  readonly isPlain?: boolean;
}

export const numberColumn = <Row>(heading: string, cell: (row: Row) => Content): Column<Row> => ({
  heading,
  kind: 'number',
  cell,
});

/**
 * A table that scrolls sideways if it is wider than the page; on a phone each row is a card with its headings. Screen
 * readers announce `caption`. `empty` is shown instead if there are no rows; `ofTable` is a class of its own.
 */
export function tableOf<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  empty?: Content,
  ofTable?: string,
): VNode {
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`;
  const draw = (zone: string) => {
    const labels = columns.map(({ heading }) =>
      typeof heading === 'string' ? heading : `${heading.time} (${zoneWord(zone)})`,
    );
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
        <table class=${ofTable}>
          <caption class="visually-hidden">
            ${caption}
          </caption>
          <thead>
            <tr>
              ${columns.map(
                ({ kind, sort }, index) => html`
                  <th scope="col" class=${kind} aria-sort=${sort?.order}>
                    ${
                      sort === undefined
                        ? labels[index]
                        : html`<a href=${sort.href}
                            >${labels[index]}${sort.order && html` <span aria-hidden="true">↓</span>`}</a
                          >`
                    }
                  </th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (row) => html`
                <tr>
                  ${columns.map(({ cell, kind, isPlain }, index) => html`<td class=${kind} data-label=${isPlain ? undefined : labels[index]}>${cell(row)}</td>`)}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    `;
  };
  return html`<${Zone.Consumer}>${draw}<//>`;
}
