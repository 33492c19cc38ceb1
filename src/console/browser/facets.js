import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from './api.js';

// The facet rail of a search: the most frequent values of each field. Each facet loads by itself, so that none holds up
// another one.

/** @typedef {{ values: { value: string, count: number }[], is_complete: boolean }} Counted */

const FACETS = [
  ['type', 'Type'],
  ['action', 'Action'],
  ['outcome', 'Outcome'],
  ['user', 'Person'],
  ['code', 'Code'],
  ['ap', 'Access point'],
  ['ssid', 'SSID'],
  ['source', 'Source'],
  ['origin', 'Origin'],
];

const numbers = new Intl.NumberFormat('en');

const place = document.querySelector('[data-facets]');
if (place instanceof HTMLElement) {
  const path = place.dataset['facets'] ?? '';
  /** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
  const titles = JSON.parse(place.dataset['titles'] ?? '{}');
  const rail = place.closest('details');
  // Beside the list where there is room for it, else behind a button.
  if (rail !== null && innerWidth < 900) rail.open = false;
  render(
    FACETS.map(
      ([facet, label]) =>
        html`<${Facet}
          key=${facet}
          path=${path}
          facet=${facet}
          label=${label}
          titles=${titles[String(facet)] ?? {}}
        />`,
    ),
    place,
  );
}

/** @param {{ path: string, facet: string, label: string, titles: Readonly<Record<string, string>> }} props */
function Facet({ path, facet, label, titles }) {
  const [counted, setCounted] = useState(/** @type {Counted | string | undefined} */ (undefined));
  const [limit, setLimit] = useState(10);
  useEffect(() => {
    request(`${path}&facet=${facet}&limit=${limit}`).then(setCounted, (error) => setCounted(String(error)));
  }, [path, facet, limit]);
  if (counted === undefined)
    return html`<h2>${label}</h2>
      <p class="dim">Counting…</p>`;
  if (typeof counted === 'string')
    return html`<h2>${label}</h2>
      <p class="problem">${counted}</p>`;
  const { values, is_complete: isComplete } = counted;
  if (isComplete && values.length === 0) return null;
  const most = values[0]?.count ?? 1;
  return html`
    <h2>${label}</h2>
    ${!isComplete && html`<p class="dim">Counting takes too long for this range.</p>`}
    <ul class="plain">
      ${values.map(
        ({ value, count }) => html`
          <li key=${value}>
            <svg viewBox=${`0 0 ${most} 1`} preserveAspectRatio="none" aria-hidden="true">
              <rect width=${count} height="1" />
            </svg>
            <a
              href=${addressWith(facet, value, false)}
              title=${`${value}: click to include, Alt and click to exclude`}
              onClick=${(/** @type {MouseEvent} */ event) => {
                if (!event.altKey) return;
                event.preventDefault();
                location.assign(addressWith(facet, value, true));
              }}
              >${titles[value] ?? value}</a
            >
            <span>${numbers.format(count)}</span>
          </li>
        `,
      )}
    </ul>
    ${
      values.length === limit &&
      limit < 200 &&
      html`<button class="quiet" type="button" onClick=${() => setLimit(200)}>more</button>`
    }
  `;
}

/**
 * @param {string} facet
 * @param {string} value
 * @param {boolean} isExcluded
 */
function addressWith(facet, value, isExcluded) {
  const address = new URL(location.href);
  const quoted = `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  address.searchParams.append('q', `${isExcluded ? '-' : ''}${facet}:${quoted}`);
  address.searchParams.delete('cursor');
  address.hash = '';
  return address.href;
}
