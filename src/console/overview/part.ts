import { formatDuration } from '../../units.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/values.ts';
import type { Overview } from './overview-schemas.ts';

/** The content of a panel, or why it is missing. */
export function partOf<T>(
  { problems }: Pick<Overview, 'problems'>,
  part: string,
  value: T | null,
  content: (value: T) => Content,
  absent = 'Unknown.',
): Content {
  if (value !== null) return content(value);
  const problem = problems.find((one) => one.part === part);
  if (problem === undefined) return html`<p class="dim">${absent}</p>`;
  return html`<p class="note warn">Not available: ${problem.why}</p>`;
}

/** A time, and how long before the overview was read. */
export function sinceOf({ at }: Pick<Overview, 'at'>, time: string | null): Content {
  if (time === null) return html`<span class="dim">never</span>`;
  const seconds = Math.max(0, (Date.parse(at) - Date.parse(time)) / 1000);
  return html`${timeOf(time)} <span class="dim nowrap">${formatDuration(seconds)} ago</span>`;
}
