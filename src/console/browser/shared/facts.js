import { html } from 'htm/preact';

// The list of names and values of the console. The server draws it too, so this module must not access the page.

/**
 * A name and its value.
 *
 * @typedef {readonly [name: string | import('preact').VNode, value: import('./table.js').Content]} Fact
 */

/**
 * A list of names and values; entries that are false are left out.
 *
 * @param {readonly (Fact | false)[]} facts
 * @param {string} [kind] a class of its own
 * @returns {import('preact').VNode<{}>}
 */
export const factsOf = (facts, kind = '') => html`
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
