import type { VNode } from 'preact';
import { addressOf } from '../addresses.ts';
import { textOf, type Problems, type Written } from '../api/parameters.ts';
import { zoneWord } from '../browser/shared/local-time.js';
import { html, type Content } from './html.ts';
import { inZone, writtenIn } from './time-zone.ts';

const NO_PROBLEMS: Problems = new Map();

/** A labelled text field with the entered value, valid or not, and its problem below. `name` is the query parameter. */
export function fieldOf(
  written: Written,
  name: string,
  label: string,
  placeholder?: string,
  problems: Problems = NO_PROBLEMS,
): VNode {
  const problem = problems.get(name);
  return labelled(
    name,
    label,
    problem,
    html`
      <input
        id=${`field-${name}`}
        name=${name}
        value=${textOf(written, name) ?? ''}
        placeholder=${placeholder}
        autocomplete="off"
        spellcheck="false"
        aria-invalid=${problem && 'true'}
        aria-describedby=${problem && `field-${name}-problem`}
      />
    `,
  );
}

const labelled = (name: string, label: string, problem: string | undefined, control: Content): VNode => html`
  <div class="field">
    <label for=${`field-${name}`}>${label}</label>
    ${control}
    ${problem !== undefined && html`<p class="problem" id=${`field-${name}-problem`}>${label} ${problem}.</p>`}
  </div>
`;

/** A labelled choice of values with their labels; the first one if none was chosen. */
export function selectOf(
  written: Written,
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  problems: Problems = NO_PROBLEMS,
): VNode {
  const chosen = textOf(written, name);
  return labelled(
    name,
    label,
    problems.get(name),
    html`
      <select id=${`field-${name}`} name=${name}>
        ${options.map(([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`)}
      </select>
    `,
  );
}

export const typeSelect = (types: readonly string[], written: Written, problems?: Problems): VNode =>
  selectOf(
    written,
    'type',
    'Type',
    [['', 'all types'], ...types.map((type) => [type, type] as const)],
    problems,
  );

export const rangeFields = (written: Written, problems?: Problems): VNode =>
  inZone((zone) => {
    const field = (name: string, label: string, placeholder: string) => {
      const text = writtenIn(zone, textOf(written, name) ?? '');
      return fieldOf({ [name]: text }, name, `${label} (${zoneWord(zone)})`, placeholder, problems);
    };
    return [field('since', 'From', '24h, 2026-01-31 08:00'), field('until', 'To', 'now')];
  });

/** The form above a list that filters it. `fields` are its conditions. */
export const filterForm = (path: string, label: string, fields: Content): VNode => html`
  <form class="filters" method="get" action=${path} role="search" aria-label=${label}>
    ${fields}
    <div class="row">
      <button>Search</button>
      <a class="button quiet" href=${path}>Clear</a>
    </div>
  </form>
`;

/** Ranges that end now, as pages offer them. */
export const RANGES = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** Links to the same page with a range that ends now; the range stays relative in the address. */
export function rangeLinks(path: string, written: Written): Content {
  const { since, until, cursor: _cursor, ...others } = written;
  return html`
    <ul class="ranges" aria-label="Time range">
      ${RANGES.map(
        ([range, label]) => html`
          <li>
            <a
              href=${addressOf(path, { since: range, ...others })}
              aria-current=${since === range && until === undefined ? 'true' : undefined}
              >${label}</a
            >
          </li>
        `,
      )}
    </ul>
  `;
}
