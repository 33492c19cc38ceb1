import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from '../shared/api.ts';
import { Chart, type Bar, type Range } from './chart.ts';
import { openRange, openRangeBefore } from './range-address.ts';
import type { Histogram } from '../../events/describe-event.ts';
import type { ArrivalsAnswer } from '../../overview/overview-schemas.ts';

// Charts of what the API counts in a range: the events that match a search, or those received. A range that is chosen by
// dragging is opened; keyboards choose one in the time picker. A chart follows the refreshes of its page.

type Counted = Pick<Histogram, 'since' | 'until' | 'bucket_seconds' | 'is_complete'> & {
  readonly bars: readonly Bar[];
  readonly before?: readonly number[] | undefined;
};

for (const place of document.querySelectorAll<HTMLElement>('[data-histogram]'))
  render(html`<${RangeChart} place=${place} />`, place);

function RangeChart({ place }: { place: HTMLElement }) {
  const [counted, setCounted] = useState<Counted | Error | undefined>(undefined);
  const { histogram = '', before, label = '', height, fit } = place.dataset;
  useEffect(() => {
    const bars = Math.max(20, Math.min(120, Math.floor(place.clientWidth / 12)));
    const load = () => {
      const counting = fit === undefined ? countArrivals(histogram) : countEvents(histogram, before, bars);
      // While the service is unavailable, the page reports it and the chart stays.
      counting.then(setCounted, (error) => setCounted((known) => known ?? error));
    };
    document.addEventListener('overview-refreshed', load);
    load();
    return () => document.removeEventListener('overview-refreshed', load);
  }, []);
  useEffect(() => {
    if (counted !== undefined) place.dataset['ready'] = '';
  }, [counted]);
  if (counted === undefined) return null;
  if (counted instanceof Error) {
    return html`<p class="note bad">Can't show events over time: ${counted.message}</p>`;
  }
  const { since, until, bars, bucket_seconds: seconds, is_complete: isComplete, before: outline } = counted;
  if (!isComplete && bars.every(({ counts }) => Object.keys(counts).length === 0)) {
    return html`<p class="legend">
      Counting the events in this range takes too long. Choose a shorter range, or add a user, code or MAC
      address.
    </p>`;
  }
  const startOf = (index: number) => new Date(index === 0 ? since : (bars[index]?.start ?? until));
  return html`
    <${Chart}
      label=${label}
      bars=${bars}
      before=${outline}
      seconds=${seconds}
      height=${Number(height)}
      isEstimate=${!isComplete}
      onChoose=${({ from, to }: Range) => openRange(startOf(from), startOf(to))}
      onBack=${openRangeBefore}
    />
  `;
}

/** The events of the period before, by bar; undefined if its bars have another width, or are estimates. */
function outlineOf({ bars, bucket_seconds: seconds }: Counted, earlier: Counted | undefined) {
  if (!earlier?.is_complete || earlier.bucket_seconds !== seconds) return undefined;
  return bars.map((_, index) =>
    Object.values(earlier.bars[index]?.counts ?? {}).reduce((sum, count) => sum + count, 0),
  );
}

async function countEvents(path: string, before: string | undefined, bars: number): Promise<Counted> {
  const count = (asked: string): Promise<Histogram> => request(`${asked}&bars=${bars}`);
  const [answer, earlier] = await Promise.all([count(path), before && count(before)]);
  return { ...answer, before: outlineOf(answer, earlier || undefined) };
}

const DAY_MS = 86_400_000;

/** What arrived, and before that: in the same hours a day before, or a week before, or in as long a time. */
async function countArrivals(path: string): Promise<Counted> {
  const counted = barsOf(await request(path));
  const [since, until] = [Date.parse(counted.since), Date.parse(counted.until)];
  // The bars at both ends extend the range.
  const shift = [DAY_MS, 7 * DAY_MS].find((days) => until - since < days * 1.1) ?? until - since;
  const query = new URLSearchParams(path.slice(path.indexOf('?')));
  query.set('since', new Date(since - shift).toISOString());
  query.set('until', new Date(until - shift).toISOString());
  const before = outlineOf(counted, barsOf(await request(`/arrivals?${query}`)));
  return { ...counted, before: before?.some((count) => count > 0) ? before : undefined };
}

function barsOf({ items, ...buckets }: ArrivalsAnswer): Counted {
  const start = Date.parse(buckets.since);
  const width = buckets.bucket_seconds * 1000;
  const count = Math.round((Date.parse(buckets.until) - start) / width);
  const byBar = Map.groupBy(items, ({ bucket }) => Math.round((Date.parse(bucket) - start) / width));
  const bars = Array.from({ length: count }, (_, index) => ({
    start: new Date(start + index * width).toISOString(),
    counts: Object.fromEntries(byBar.get(index)?.map((one) => [one.message_type, one.events]) ?? []),
  }));
  return { ...buckets, is_complete: true, bars };
}
