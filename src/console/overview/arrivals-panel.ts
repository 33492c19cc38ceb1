import { MESSAGE_TYPES } from '../../events/domain.ts';
import { TYPE_TITLES } from '../../events/event-words.ts';
import { formatCount, formatDuration } from '../../lib/text/units.ts';
import { addressOf, type Query } from '../addresses.ts';
import { partOf } from '../page-parts.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf, zoneName } from '../html/elements.ts';
import { tableOf } from '../browser/shared/table.js';
import type { Arrivals, Overview } from './overview-schemas.ts';

/** The chart of received events in a range, which is that of `form`, and a table with the same numbers. */
export function arrivalsPanel(
  range: Query,
  form: Content,
  arrivals: Arrivals | null,
  problems: Overview['problems'],
): Content {
  return html`
    <section class="panel" id="arrivals">
      <div class="row apart">
        <h2>Events received</h2>
        ${form}
      </div>
      <div
        id="arrivals-chart"
        data-histogram=${addressOf('/arrivals', range)}
        data-height="260"
        data-label="Events received, by time and family of message types; the table below has the numbers"
      ></div>
      <noscript><p class="dim">The chart needs JavaScript. The table has the same numbers.</p></noscript>
      <div id="arrivals-table" data-live>${partOf(problems, 'arrivals', arrivals, numbersOf)}</div>
    </section>
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
