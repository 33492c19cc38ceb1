import { formatDuration } from '../../units.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import { timeOf } from '../html/values.ts';
import type { Overview } from './overview-schemas.ts';

/** The content of a panel, or why there is none. */
export function partOf<T>(
  { problems }: Pick<Overview, 'problems'>,
  part: string,
  value: T | null,
  content: (value: T) => Content,
  absent = 'Not known.',
): Content {
  if (value !== null) return content(value);
  const problem = problems.find((one) => one.part === part);
  if (problem === undefined) return html`<p class="dim">${absent}</p>`;
  return html`<p class="note warn">This could not be read: ${problem.why}</p>`;
}

/** Names and what they are. */
export const facts = (lines: readonly (readonly [name: string, value: Content])[]): Content => html`
  <dl class="facts">
    ${lines.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>
`;

/** A time, and how long ago that was when the overview was read. */
export function sinceOf({ at }: Pick<Overview, 'at'>, time: string | null): Content {
  if (time === null) return html`<span class="dim">never</span>`;
  const seconds = Math.max(0, (Date.parse(at) - Date.parse(time)) / 1000);
  return html`${timeOf(time)} <span class="dim nowrap">${formatDuration(seconds)} ago</span>`;
}
