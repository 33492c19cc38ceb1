// The chart of received events. Its range is in the address of the page; dragging over the chart changes the range,
// which is then loaded in finer buckets.

import uPlot from 'uplot';
import { request } from './api.js';
import { notify } from './page.js';
import { stack } from './stack.js';
import { localText } from './local-time.js';
import { zone } from './time-zone.js';

/** @typedef {import('./stack.js').Arrivals} Arrivals */

/**
 * @typedef {{
 *   hidden: ReadonlySet<string>,
 *   colours(): string[],
 *   show(values: readonly (readonly number[])[], times: ArrayLike<number>, index: number | undefined): void,
 * }} Legend
 */

const HEIGHT = 260;

/** A shorter drag counts as a click. */
const MIN_DRAG_PX = 6;

const SHORTEST_SECONDS = 600;

const element = document.querySelector('#arrivals-chart');
if (element instanceof HTMLElement) void start(element);

/** @param {HTMLElement} element */
async function start(element) {
  // From the bottom up; the order decides the colours.
  /** @type {Readonly<Record<string, string>>} */
  const titles = JSON.parse(element.dataset['types'] ?? '{}');
  const types = Object.keys(titles);
  /** @type {Arrivals | undefined} */
  let arrivals;
  /** @type {uPlot | undefined} */
  let plot;
  let asked = 0;
  const legend = createLegend(document.querySelector('#arrivals-legend'), titles, draw);

  async function load() {
    const number = ++asked;
    try {
      const answer = await request(`/arrivals?${askedRange(element)}`);
      // Another range was requested in the meantime.
      if (number !== asked) return;
      arrivals = answer;
      draw();
    } catch (error) {
      // While the service is unavailable, the page reports it and the chart stays.
      if (arrivals === undefined) notify(error instanceof Error ? error.message : String(error), 'bad');
    }
  }

  function draw() {
    if (arrivals === undefined) return;
    const { times, values, sums } = stack(arrivals, types, legend.hidden);
    legend.show(values, times, undefined);
    /** @type {uPlot.AlignedData} */
    const data = [times, ...sums.toReversed()];
    plot?.destroy();
    plot = new uPlot(optionsOf(element, arrivals, legend, values, zoom), data, element);
  }

  /**
   * @param {number} from epoch seconds
   * @param {number} to
   */
  function zoom(from, to) {
    const longer = Math.max(0, SHORTEST_SECONDS - (to - from)) / 2;
    const query = new URLSearchParams(location.search);
    query.set('since', secondOf(from - longer));
    query.set('until', secondOf(to + longer));
    history.pushState(null, '', `?${query}`);
    move();
  }

  function move() {
    void load();
    document.dispatchEvent(new CustomEvent('overview-moved'));
  }

  document.addEventListener('overview-refreshed', () => void load());
  window.addEventListener('popstate', move);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT })).observe(element);
  await load();
}

/**
 * The range in the address of the page, as a query of the API.
 *
 * @param {HTMLElement} element has the default range, and the length of each named range in seconds
 */
function askedRange(element) {
  const page = new URLSearchParams(location.search);
  const until = page.get('until') ?? new Date().toISOString();
  /** @type {Readonly<Record<string, number>>} */
  const ranges = JSON.parse(element.dataset['ranges'] ?? '{}');
  const seconds = ranges[page.get('range') ?? element.dataset['range'] ?? ''] ?? 0;
  const since = page.get('since') ?? new Date(Date.parse(until) - seconds * 1000).toISOString();
  return new URLSearchParams({ since, until, source: page.get('source') ?? '' });
}

/** @param {number} seconds */
const secondOf = (seconds) => `${new Date(Math.round(seconds) * 1000).toISOString().slice(0, 19)}Z`;

/**
 * @param {HTMLElement} element
 * @param {Arrivals} arrivals
 * @param {Legend} legend
 * @param {number[][]} values
 * @param {(from: number, to: number) => void} zoom
 * @returns {uPlot.Options}
 */
function optionsOf(element, arrivals, legend, values, zoom) {
  const { color: text, borderTopColor: line } = getComputedStyle(element);
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const isLong = Date.parse(arrivals.until) - Date.parse(arrivals.since) > 36 * 3_600_000;
  const half = arrivals.bucket_seconds / 2;
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
    scales: {
      x: { range: [Date.parse(arrivals.since) / 1000 - half, Date.parse(arrivals.until) / 1000 - half] },
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.15, 1)] },
    },
    axes: [
      {
        ...axis,
        space: isLong ? 110 : 60,
        values: (_plot, splits) => splits.map((value) => timeOf(value, isLong)),
      },
      { ...axis, size: 64, values: (_plot, splits) => splits.map((value) => numbers.format(value)) },
    ],
    // The total is drawn first, and the smaller sums over it.
    series: [{}, ...legend.colours().toReversed().map(barsOf)],
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < MIN_DRAG_PX) return;
          zoom(plot.posToVal(left, 'x') + half, plot.posToVal(left + width, 'x') + half);
        },
      ],
      setCursor: [(plot) => legend.show(values, plot.data[0], plot.cursor.idx ?? undefined)],
    },
  };
}

const numbers = new Intl.NumberFormat('en', { notation: 'compact' });

/**
 * @param {number} seconds
 * @param {boolean} isLong whether the range is longer than the labels without a date can tell apart
 */
function timeOf(seconds, isLong) {
  const text = localText(seconds * 1000, zone);
  return text.slice(isLong ? 5 : 11, 16);
}

const bars = uPlot.paths.bars?.({ size: [0.9, 60] });

/**
 * @param {string} colour
 * @returns {uPlot.Series}
 */
const barsOf = (colour) => ({
  fill: colour,
  width: 0,
  points: { show: false },
  ...(bars && { paths: bars }),
});

const counts = new Intl.NumberFormat('en');

/**
 * The types as buttons, each with its colour and its count, and the total: of the whole range, or of the bar under the
 * pointer. A button hides or shows its type.
 *
 * @param {Element | null} element
 * @param {Readonly<Record<string, string>>} titles of the types
 * @param {() => void} onToggle
 * @returns {Legend}
 */
export function createLegend(element, titles, onToggle) {
  /** @type {Set<string>} */
  const hidden = new Set();
  const moment = document.createElement('span');
  moment.className = 'moment';
  const entries = Object.entries(titles).map(([type, title], index) => createEntry(type, title, index));
  for (const { button, type } of entries) {
    button.addEventListener('click', () => {
      if (!hidden.delete(type)) hidden.add(type);
      button.setAttribute('aria-pressed', String(!hidden.has(type)));
      onToggle();
    });
  }
  element?.replaceChildren(...entries.map(({ button }) => button), moment);
  return {
    hidden,
    colours: () => entries.map(({ swatch }) => getComputedStyle(swatch).backgroundColor),
    show(values, times, index) {
      const shown = entries.map(({ value }, type) => {
        const line = values[type] ?? [];
        const count = index === undefined ? sumOf(line) : (line[index] ?? 0);
        value.textContent = counts.format(count);
        return count;
      });
      const time = index === undefined ? undefined : times[index];
      const when =
        time === undefined ? 'in total' : `from ${localText(time * 1000, zone).slice(0, 16)} ${zone}`;
      moment.textContent = `${counts.format(sumOf(shown))} ${when}`;
    },
  };
}

/**
 * @param {string} type
 * @param {string} title
 * @param {number} index
 */
function createEntry(type, title, index) {
  const button = document.createElement('button');
  const swatch = document.createElement('span');
  const value = document.createElement('span');
  button.type = 'button';
  button.title = type;
  button.className = 'quiet';
  button.setAttribute('aria-pressed', 'true');
  swatch.className = `swatch type-${index + 1}`;
  value.className = 'value';
  button.append(swatch, title, ' ', value);
  return { type, button, swatch, value };
}

/** @param {readonly number[]} counts */
const sumOf = (counts) => counts.reduce((sum, one) => sum + one, 0);
