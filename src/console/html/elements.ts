import type { VNode } from 'preact';
import { formatDuration } from '../../lib/text/units.ts';
import { addressOf, type Query } from '../addresses.ts';
import { factsOf, type Fact } from '../browser/shared/facts.ts';
import { exactText, localText, zoneWord } from '../browser/shared/local-time.ts';
import { html, type Content } from './html.ts';
import { inZone } from './time-zone.ts';

/** The name of a fact that is a time: the name, and the time zone. */
export const timeHeading = (name: string): VNode => inZone((zone) => `${name} (${zoneWord(zone)})`);

/** A sentence with its instants in ISO 8601 as times of the reader. */
export const withTimes = (text: string): Content =>
  text.split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/).map((part, index) => (index % 2 === 0 ? part : timeOf(part)));

export const zoneName = (): VNode => inZone((zone) => zone);

/** A time in the time zone of the reader, to the second. */
export const timeOf = (time: Date | string): VNode => elementOf(time, localText);

/** A time in the time zone of the reader, to the millisecond. */
export const exactTimeOf = (time: Date | string): VNode => elementOf(time, exactText);

const elementOf = (time: Date | string, textOf: typeof localText): VNode =>
  inZone((zone) => html`<time datetime=${new Date(time).toISOString()}>${textOf(time, zone)}</time>`);

/** The time of day in the time zone of the reader: 08:00:00. */
export const clockOf = (time: Date | string): VNode =>
  elementOf(time, (at, zone) => localText(at, zone).slice(11));

/** A state: a word, and a colour that says the same. */
export const badge = (kind: 'good' | 'warn' | 'bad' | 'plain', word: string): VNode =>
  html`<span class=${`badge ${kind}`}>${word}</span>`;

export function sinceOf(now: Date, time: Date): Content {
  const seconds = Math.max(0, (now.getTime() - time.getTime()) / 1000);
  return html`${timeOf(time)} <span class="dim nowrap">${formatDuration(seconds)} ago</span>`;
}

/** How long ago a time was, or `never`; hovering shows the time. */
export function agoOf(time: Date | null): VNode {
  if (time === null) return html`<span class="dim">never</span>`;
  const seconds = (Date.now() - time.getTime()) / 1000;
  const text = formatDuration(Math.abs(seconds));
  return html`<time datetime=${time.toISOString()}>${seconds < 0 ? `in ${text}` : `${text} ago`}</time>`;
}

/** A part of a page that browser/pages/overview.ts refreshes. */
export const livePart = (id: string, content: Content, kind?: string): VNode =>
  html`<section id=${id} class=${kind} data-live>${content}</section>`;

/** When a page that is refreshed was drawn; and where it says that it could not be since. */
export const freshnessOf = (at: Date): Content => html`
  <p id="freshness" class="dim" data-live>As of ${clockOf(at)} ${zoneName()}</p>
  <div id="stale" role="status"></div>
`;

export const panelOf = (title: string, content: Content): VNode => html`
  <section class="panel">
    <h2>${title}</h2>
    ${content}
  </section>
`;

/** A panel of names and values, followed by any other content. */
export const factsPanel = (title: string, facts: readonly Fact[], further?: Content): VNode =>
  panelOf(title, [factsOf(facts), ' ', further]);

/** Links to the next page of a list and back to the first, if there are any. `query` is that of this page. */
export function pagerOf(
  path: string,
  query: Query,
  next: string | null,
  [toFirst, toNext] = ['Newest', 'Older'],
): Content {
  const isFirst = query['cursor'] === undefined;
  if (isFirst && next === null) return undefined;
  return html`
    <nav class="row paging" aria-label="Pages of the list">
      ${!isFirst && html`<a class="button quiet" href=${addressOf(path, { ...query, cursor: undefined })}>${toFirst}</a>`}
      ${
        next !== null &&
        html`<a class="button quiet" rel="next" href=${addressOf(path, { ...query, cursor: next })}
          >${toNext}</a
        >`
      }
    </nav>
  `;
}

/** Links that download a list, with its times in the zone of the reader; browser/events/export.ts shows the progress. */
export const exportLinks = (path: string, query: Query): VNode =>
  inZone(
    (tz) => html`
      <div class="row exports">
        <span class="dim">Export:</span>
        ${(['csv', 'ndjson'] as const).map(
          (format) => html`
            <a class="button quiet" data-export href=${addressOf(path, { ...query, format, tz, bom: 'true' })}
              >${format.toUpperCase()}</a
            >
          `,
        )}
      </div>
    `,
  );
