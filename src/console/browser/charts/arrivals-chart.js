import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { request } from '../shared/api.js';
import { Chart } from './chart.js';
import { openRange, openRangeBefore } from './range-address.js';

// The chart of received events. It follows the refreshes of the overview.

/**
 * @typedef {{ since: string, until: string, bucket_seconds: number,
 *   items: { bucket: string, message_type: string, events: number }[] }} Arrivals
 */

const HEIGHT = 260;

const place = document.querySelector('#arrivals-chart');
if (place instanceof HTMLElement) render(html`<${ArrivalsChart} ...${place.dataset} />`, place);

/** @param {{ range?: string, label?: string }} props the range as a query of the API */
function ArrivalsChart({ range = '', label = '' }) {
  const [arrivals, setArrivals] = useState(/** @type {Arrivals | Error | undefined} */ (undefined));
  const bars = useMemo(
    () => (arrivals === undefined || arrivals instanceof Error ? [] : barsOf(arrivals)),
    [arrivals],
  );
  useEffect(() => {
    const load = () => {
      request(`/arrivals${range}`).then(setArrivals, (error) =>
        // While the service is unavailable, the page reports it and the chart stays.
        setArrivals((known) => known ?? error),
      );
    };
    document.addEventListener('overview-refreshed', load);
    load();
    return () => document.removeEventListener('overview-refreshed', load);
  }, []);
  if (arrivals === undefined) return null;
  if (arrivals instanceof Error) return html`<p class="note bad">${arrivals.message}</p>`;
  return html`
    <${Chart}
      label=${label}
      bars=${bars}
      seconds=${arrivals.bucket_seconds}
      height=${HEIGHT}
      onChoose=${(/** @type {import('./chart.js').Range} */ { from, to }) => {
        const start = Date.parse(arrivals.since);
        const edge = (/** @type {number} */ at) => new Date(start + at * arrivals.bucket_seconds * 1000);
        openRange(edge(from), edge(to));
      }}
      onBack=${openRangeBefore}
    />
  `;
}

/** @param {Arrivals} arrivals */
function barsOf({ since, until, bucket_seconds: seconds, items }) {
  const start = Date.parse(since);
  const width = seconds * 1000;
  const bars = Array.from({ length: Math.round((Date.parse(until) - start) / width) }, (_, index) => ({
    start: new Date(start + index * width).toISOString(),
    counts: /** @type {Record<string, number>} */ ({}),
  }));
  for (const { bucket, message_type: type, events } of items) {
    const bar = bars[Math.round((Date.parse(bucket) - start) / width)];
    if (bar !== undefined) bar.counts[type] = events;
  }
  return bars;
}
