import type { VNode } from 'preact';
import { MESSAGE_TYPES } from '../../domain.ts';
import { html } from './html.ts';

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
