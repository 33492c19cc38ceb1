import type { VNode } from 'preact';
import { html } from './html.ts';
import type { Content } from './html.ts';

/** A state as a word, with a colour that says the same. */
export const badge = (kind: 'good' | 'warn' | 'bad' | 'plain', word: string): VNode =>
  html`<span class=${`badge ${kind}`}>${word}</span>`;

/** A time in UTC, to the second. */
export function timeOf(time: Date | string): VNode {
  const iso = new Date(time).toISOString();
  return html`<time datetime=${iso}>${iso.slice(0, 19).replace('T', ' ')}</time>`;
}

/** A time in UTC, with all digits that are stored. */
export function exactTimeOf(time: Date | string): VNode {
  const iso = new Date(time).toISOString();
  return html`<time datetime=${iso}>${iso.slice(0, -1).replace('T', ' ')}</time>`;
}

const STEPS: readonly (readonly [unit: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
];

/** A span of time as a person says it: the largest unit of which there are two, else of which there is one. */
export function durationOf(seconds: number): string {
  for (const [unit, size] of STEPS) {
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return seconds >= 10 || seconds < 0.05 ? `${Math.round(seconds)} s` : `${seconds.toFixed(1)} s`;
}

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
