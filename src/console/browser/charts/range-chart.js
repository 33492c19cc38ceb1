import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from '../shared/api.js';
import { Chart } from './chart.js';
import { openRange, openRangeBefore } from './range-address.js';

// Charts of what the API counts in a range: the events that match a search, or those received. A range that is chosen by
// dragging is opened; keyboards choose one in the time picker. A chart follows the refreshes of its page.

/**
 * @typedef {{ since: string, until: string, bucket_seconds: number }} Buckets
 * @typedef {Buckets & { is_complete: boolean, bars: readonly import('./chart.js').Bar[], before?: readonly number[] }} Counted
 * @typedef {Buckets & { items: { bucket: string, message_type: string, events: number }[] }} Arrivals
 */

for (const place of document.querySelectorAll('[data-histogram]')) {
  if (place instanceof HTMLElement) render(html`<${RangeChart} place=${place} />`, place);
}

/** @param {{ place: HTMLElement }} props */
function RangeChart({ place }) {
  const [counted, setCounted] = useState(/** @type {Counted | Error | undefined} */ (undefined));
  const { histogram = '', before, label = '', height, fit } = place.dataset;
  useEffect(() => {
    const bars = Math.max(20, Math.min(120, Math.floor(place.clientWidth / 12)));
    /** @param {string | undefined} path */
    const count = (path) => path && request(fit === undefined ? path : `${path}&${fit}=${bars}`);
    const load = () => {
      Promise.all([count(histogram), count(before)]).then(
        ([answer, earlier]) =>
          setCounted(
            'items' in answer ? countArrivals(answer) : { ...answer, before: outlineOf(answer, earlier) },
          ),
        // While the service is unavailable, the page reports it and the chart stays.
        (error) => setCounted((known) => known ?? error),
      );
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
  /** @param {number} index of a bar */
  const startOf = (index) => new Date(index === 0 ? since : (bars[index]?.start ?? until));
  return html`
    <${Chart}
      label=${label}
      bars=${bars}
      before=${outline}
      seconds=${seconds}
      height=${Number(height)}
      isEstimate=${!isComplete}
      onChoose=${(/** @type {import('./chart.js').Range} */ { from, to }) =>
        openRange(startOf(from), startOf(to))}
      onBack=${openRangeBefore}
    />
  `;
}

/**
 * The events of the period before, by bar; undefined if its bars have another width, or are estimates.
 *
 * @param {Counted} now
 * @param {Counted | undefined} earlier
 */
function outlineOf({ bars, bucket_seconds: seconds }, earlier) {
  if (!earlier?.is_complete || earlier.bucket_seconds !== seconds) return undefined;
  return bars.map((_, index) =>
    Object.values(earlier.bars[index]?.counts ?? {}).reduce((sum, count) => sum + count, 0),
  );
}

/**
 * @param {Arrivals} arrivals
 * @returns {Counted}
 */
function countArrivals({ items, ...buckets }) {
  const start = Date.parse(buckets.since);
  const width = buckets.bucket_seconds * 1000;
  const count = Math.round((Date.parse(buckets.until) - start) / width);
  const bars = Array.from({ length: count }, (_, index) => ({
    start: new Date(start + index * width).toISOString(),
    counts: /** @type {Record<string, number>} */ ({}),
  }));
  for (const { bucket, message_type: type, events } of items) {
    const bar = bars[Math.round((Date.parse(bucket) - start) / width)];
    if (bar !== undefined) bar.counts[type] = events;
  }
  return { ...buckets, is_complete: true, bars };
}
