import { html } from 'htm/preact';
import { zoneWord } from './local-time.js';
import { Zone } from './zone.js';

// The table of the console. The server draws it too, so this module must not access the page.

/** @typedef {import('preact').VNode | string | number | null | undefined | false | readonly Content[]} Content */

/**
 * A column of a table.
 *
 * @template Row
 * @typedef {object} Column
 * @property {string | { readonly time: string }} heading `time`: the heading of times, which names the time zone, too
 * @property {(row: Row) => Content} cell
 * @property {'number' | 'wrap' | 'nowrap' | 'mark' | 'days' | 'mono nowrap' | undefined} [kind]
 * @property {{ href: string, order: 'ascending' | 'descending' | undefined }} [sort] the link that sorts the rows by this
 *   column, and their order if they are
 * @property {boolean} [isPlain] without its heading beside the value on a phone
 */

/**
 * @template Row
 * @param {string} heading
 * @param {(row: Row) => Content} cell
 * @returns {Column<Row>}
 */
export const numberColumn = (heading, cell) => ({ heading, kind: 'number', cell });

/**
 * A table that scrolls sideways if it is wider than the page; on a phone each row is a card with its headings. Screen
 * readers announce `caption`.
 *
 * @template Row
 * @param {string} caption
 * @param {readonly Column<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {string} [ofTable] a class of its own
 * @param {Content} [empty] what is shown instead if there are no rows
 * @returns {import('preact').VNode<{}>}
 */
export function tableOf(caption, columns, rows, ofTable, empty) {
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`;
  /** @param {string} zone */
  const draw = (zone) => {
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
                            >${labels[index]} ${sort.order && html`<span aria-hidden="true">↓</span>`}</a
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
