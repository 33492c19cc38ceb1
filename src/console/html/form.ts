import type { VNode } from 'preact';
import { MESSAGE_TYPES } from '../../domain.ts';
import { addressOf } from '../addresses.ts';
import { textOf } from '../api/query.ts';
import type { Problems, Written } from '../api/query.ts';
import { html } from './html.ts';
import type { Content } from './html.ts';

/** A field of a form that is sent in the address. */
export interface FieldOptions {
  /** Of the parameter. */
  readonly name: string;
  readonly label: string;
  /** As the person wrote it, right or wrong. */
  readonly value: string | undefined;
  readonly placeholder?: string | undefined;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
}

/** A labelled line of text, with what is wrong beside it. */
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

/** A choice of a form that is sent in the address. */
export interface SelectOptions {
  readonly name: string;
  readonly label: string;
  /** What is chosen; undefined: the first. */
  readonly value: string | undefined;
  /** Values with what people read; a value of '' is no condition. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A labelled choice of one. */
export function selectOf({ name, label, value, options }: SelectOptions): VNode {
  const id = `field-${name}`;
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <select id=${id} name=${name}>
        ${options.map(
          ([option, text]) => html`<option value=${option} selected=${option === value}>${text}</option>`,
        )}
      </select>
    </div>
  `;
}

/** The choice of message types in a form of conditions: those of `chosen` are ticked; none means all. */
export function typesField(chosen: readonly string[], problem?: string): VNode {
  return html`
    <fieldset class="types">
      <legend>Types (none: all)</legend>
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
export function rangeFields(written: Written, problems: Problems): Content {
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

const RANGES = [
  ['1h', 'last hour'],
  ['24h', 'day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

/** Links to the same page with a range that ends now and stays relative in the address. */
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
