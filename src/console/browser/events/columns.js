import { html } from 'htm/preact';
import { render } from 'preact';
import { keep } from '../shared/cookie.js';

// The choice of the columns of the list of events, and of their order. The server knows it by a cookie, so that the first
// paint is right.

const COOKIE = 'xiq_event_columns';

const place = document.querySelector('[data-columns]');
if (place instanceof HTMLElement) draw(place, listIn(place, 'chosen'), false);

/**
 * @param {HTMLElement} place
 * @param {string} name
 */
function listIn(place, name) {
  return JSON.parse(place.dataset[name] ?? '[]');
}

/**
 * @param {HTMLElement} place
 * @param {readonly string[]} chosen
 * @param {boolean} isOpen
 */
function draw(place, chosen, isOpen) {
  /** @type {readonly [name: string, heading: string][]} */
  const columns = listIn(place, 'columns');
  const titles = new Map(columns);
  const others = columns.map(([name]) => name).filter((name) => !chosen.includes(name));
  /** @param {readonly string[]} next */
  const change = (next) => draw(place, next, true);
  /** @param {number} index */
  const toFront = (index) =>
    change(chosen.with(index - 1, String(chosen[index])).with(index, String(chosen[index - 1])));
  render(
    html`
      <details class="picker columns" open=${isOpen}>
        <summary class="button quiet">Columns</summary>
        <div class="panel">
          <ul class="plain">
            ${chosen.map(
              (name, index) => html`
                <li key=${name} class="row apart">
                  <label>
                    <input
                      type="checkbox"
                      checked
                      disabled=${chosen.length === 1}
                      onChange=${() => change(chosen.filter((one) => one !== name))}
                    />
                    ${titles.get(name)}
                  </label>
                  <button
                    class="quiet"
                    type="button"
                    disabled=${index === 0}
                    aria-label=${`Move ${titles.get(name)} to the left`}
                    onClick=${() => toFront(index)}
                  >
                    ↑
                  </button>
                </li>
              `,
            )}
            ${others.map(
              (name) => html`
                <li key=${name}>
                  <label>
                    <input type="checkbox" onChange=${() => change([...chosen, name])} />
                    ${titles.get(name)}
                  </label>
                </li>
              `,
            )}
          </ul>
          <div class="row">
            <button type="button" onClick=${() => apply(chosen)}>Apply</button>
            <button class="quiet" type="button" onClick=${() => apply(listIn(place, 'usual'))}>Reset</button>
          </div>
        </div>
      </details>
    `,
    place,
  );
}

/** @param {readonly string[]} chosen */
function apply(chosen) {
  if (keep(COOKIE, chosen.join('.'))) location.reload();
}
