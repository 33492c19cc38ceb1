import type { VNode } from 'preact';
import { formatDuration } from '../../units.ts';
import { factsOf, type Fact } from '../browser/facts.js';
import { html, type Content } from './html.ts';
import { timeOf } from './time-zone.ts';

/** A state: a word, and a colour that says the same. */
export const badge = (kind: 'good' | 'warn' | 'bad' | 'plain', word: string): VNode =>
  html`<span class=${`badge ${kind}`}>${word}</span>`;

/** A time, and how long before another one it was. */
export function sinceOf(now: string, time: string | null): Content {
  if (time === null) return html`<span class="dim">never</span>`;
  const seconds = Math.max(0, (Date.parse(now) - Date.parse(time)) / 1000);
  return html`${timeOf(time)} <span class="dim nowrap">${formatDuration(seconds)} ago</span>`;
}

/** A panel of names and values, followed by any other content. */
export const factsPanel = (title: string, facts: readonly Fact[], further?: Content): VNode => html`
  <section class="panel">
    <h2>${title}</h2>
    ${factsOf(facts)} ${further}
  </section>
`;
