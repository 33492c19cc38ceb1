import type { VNode } from 'preact';
import { MESSAGE_TYPES } from '../../domain.ts';
import { addressOf } from '../addresses.ts';
import { textOf } from '../api/query.ts';
import type { Problems, Written } from '../api/query.ts';
import { html } from './html.ts';
import type { Content } from './html.ts';

interface FieldOptions {
  /** The query parameter. */
  readonly name: string;
  readonly label: string;
  /** As the person entered it, valid or not. */
  readonly value: string | undefined;
  readonly placeholder?: string | undefined;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
}

/** A labelled text field, with its problem below. */
export function fieldOf({ name, label, value, placeholder, problem }: FieldOptions): VNode {
  const id = `field-${name}`;
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <input
        id=${id}
        name=${name}
        value=${value ?? ''}
        placeholder=${placeholder}
        autocomplete="off"
        spellcheck="false"
        aria-invalid=${problem === undefined ? undefined : 'true'}
        aria-describedby=${problem === undefined ? undefined : `${id}-problem`}
      />
      ${problem !== undefined && html`<p class="problem" id=${`${id}-problem`}>${label} ${problem}.</p>`}
    </div>
  `;
}

interface SelectOptions extends Omit<FieldOptions, 'placeholder'> {
  /** Values with their labels; the empty value means no condition. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A labelled choice; the first option if there is no value. */
export function selectOf({ name, label, value, options, problem }: SelectOptions): VNode {
  const id = `field-${name}`;
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <select id=${id} name=${name}>
        ${options.map(
          ([option, text]) => html`<option value=${option} selected=${option === value}>${text}</option>`,
        )}
      </select>
      ${problem !== undefined && html`<p class="problem">${label} ${problem}.</p>`}
    </div>
  `;
}

/** The choice of one message type, or all of them. */
export const typeSelect = (types: readonly string[], value: string | undefined, problem?: string): VNode =>
  selectOf({
    name: 'type',
    label: 'Type',
    value,
    problem,
    options: [['', 'all types'], ...types.map((type) => [type, type] as const)],
  });

/** Check boxes for the message types; none selected means all. */
export function typesField(chosen: readonly string[], problem?: string): VNode {
  return html`
    <fieldset class="types">
      <legend>Types (all if none is selected)</legend>
      ${MESSAGE_TYPES.map(
        (type) => html`
          <label>
            <input type="checkbox" name="type" value=${type} checked=${chosen.includes(type)} />
            <code>${type}</code>
          </label>
        `,
      )}
      ${problem !== undefined && html`<p class="problem">Types ${problem}.</p>`}
    </fieldset>
  `;
}

/** The two fields of a time range. */
export function rangeFields(written: Written, problems: Problems = new Map()): Content {
  return [
    fieldOf({
      name: 'since',
      label: 'From (UTC)',
      value: textOf(written, 'since'),
      placeholder: '24h, 2026-01-31 08:00',
      problem: problems.get('since'),
    }),
    fieldOf({
      name: 'until',
      label: 'To (UTC)',
      value: textOf(written, 'until'),
      placeholder: 'now',
      problem: problems.get('until'),
    }),
  ];
}

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

const RANGES = [
  ['1h', 'last hour'],
  ['24h', 'last day'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
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
