import { MESSAGE_TYPES } from '../../events/domain.ts';
import { TYPE_TITLES } from '../../events/event-words.ts';
import { formatCount, formatDuration } from '../../lib/text/units.ts';
import { addressOf, type Query } from '../addresses.ts';
import { partOf } from '../page-parts.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf, zoneName } from '../html/elements.ts';
import { tableOf } from '../browser/shared/table.js';
import { RANGE_NAMES, RANGES, type RangeName } from './arrivals.ts';
import type { CountedRange } from './count-activity.ts';
import type { Arrivals, Overview } from './overview-schemas.ts';

export interface ShownRange extends CountedRange {
  readonly range: RangeName;
  /** Not the last hour, day or week. */
  readonly isZoomed: boolean;
}

/** The chart of received events, and a table with the same numbers. */
export function arrivalsPanel(shown: ShownRange, arrivals: Arrivals | null, overview: Overview): Content {
  return html`
    <section class="panel" id="arrivals">
      <div class="row apart" id="arrivals-controls" data-live>
        <h2>Events received</h2>
        ${sourceForm(shown, overview.sources)} ${rangeLinks(shown)}
      </div>
      <div
        id="arrivals-chart"
        data-ranges=${JSON.stringify(RANGES)}
        data-range=${shown.range}
        data-label="Events received, by time and family of message types; the table below has the numbers"
      ></div>
      <noscript><p class="dim">The chart needs JavaScript. The table has the same numbers.</p></noscript>
      <div id="arrivals-table" data-live>${partOf(overview.problems, 'arrivals', arrivals, numbersOf)}</div>
    </section>
  `;
}

function rangeLinks(shown: ShownRange): Content {
  const { range, isZoomed } = shown;
  return html`
    <nav class="row" aria-label="Range of the chart">
      ${RANGE_NAMES.map(
        (name) => html`
          <a
            class="button quiet"
            href=${hrefOf({ range: name, source: shown.source })}
            aria-current=${name === range && !isZoomed ? 'true' : undefined}
          >
            ${name}
          </a>
        `,
      )}
      ${isZoomed && html`<a class="button" href=${hrefOf({ range, source: shown.source })}>reset</a>`}
    </nav>
  `;
}

const hrefOf = (query: Query) => addressOf('/', query);

function sourceForm({ range, source }: ShownRange, sources: readonly string[]): Content {
  if (sources.length < 2) return null;
  return html`
    <form class="row" method="get" action="/">
      <input type="hidden" name="range" value=${range} />
      <label for="source">Source</label>
      <select id="source" name="source">
        <option value="">all</option>
        ${sources.map((name) => html`<option value=${name} selected=${name === source}>${name}</option>`)}
      </select>
      <button class="quiet">Show</button>
    </form>
  `;
}

interface Line {
  readonly bucket: Date;
  readonly events: ReadonlyMap<string, number>;
}

function numbersOf({ since, until, bucket_seconds: width, items }: Arrivals): Content {
  const lines = linesOf(items);
  return html`
    <details>
      <summary>
        Show as table: ${timeOf(since)} to ${timeOf(until)} ${zoneName()}, every ${formatDuration(width)}
      </summary>
      ${
        lines.length === 0
          ? html`<p class="dim">No events were received in this range.</p>`
          : tableOf(
              'Events received, by time and message type',
              [
                { heading: { time: 'From' }, cell: ({ bucket }) => timeOf(bucket) },
                ...MESSAGE_TYPES.map((type) => ({
                  heading: TYPE_TITLES[type],
                  kind: 'number' as const,
                  cell: ({ events }: Line) => formatCount(events.get(type) ?? 0),
                })),
              ],
              lines,
            )
      }
    </details>
  `;
}

const linesOf = (items: Arrivals['items']): Line[] =>
  [...Map.groupBy(items, ({ bucket }) => bucket.getTime())].map(([time, ofBucket]) => ({
    bucket: new Date(time),
    events: new Map(ofBucket.map(({ message_type: type, events }) => [type, events])),
  }));
