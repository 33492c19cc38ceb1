import type { VNode } from 'preact';
import { html } from './html.ts';

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
