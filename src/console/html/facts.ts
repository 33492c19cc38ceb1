import type { VNode } from 'preact';
import type { Content } from './html.ts';
import { html } from './html.ts';

/** A name and what it stands for. */
export type Fact = readonly [name: string, value: Content];

/** Names and values in a panel, and what else stands in it. */
export const factsPanel = (title: string, facts: readonly Fact[], further?: Content): VNode => html`
  <section class="panel">
    <h2>${title}</h2>
    ${factsOf(facts)} ${further}
  </section>
`;

/** Names and values. */
export const factsOf = (facts: readonly Fact[]): VNode => html`
  <dl class="facts">
    ${facts.map(
      ([name, value]) => html`
        <dt>${name}</dt>
        <dd>${value ?? html`<span class="dim">none</span>`}</dd>
      `,
    )}
  </dl>
`;
