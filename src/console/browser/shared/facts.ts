import type { VNode } from 'preact';
import { html } from 'htm/preact';
import type { Content } from './table.ts';

// The list of names and values of the console. The server draws it too, so this module must not access the page.

/** A name and its value. */
export type Fact = readonly [name: string | VNode, value: Content];

/** A list of names and values; entries that are false are left out. `kind` is a class of its own. */
export const factsOf = (facts: readonly (Fact | false)[], kind = ''): VNode => html`
  <dl class=${`facts ${kind}`.trimEnd()}>
    ${facts.map(
      (fact) =>
        fact !== false &&
        html`
          <dt>${fact[0]}</dt>
          <dd>${fact[1] ?? html`<span class="dim">none</span>`}</dd>
        `,
    )}
  </dl>
`;
