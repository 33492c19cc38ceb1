import type { VNode } from 'preact';
import { html } from './html.ts';

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
