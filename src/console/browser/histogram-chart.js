import uPlot from 'uplot';
import { localText } from './local-time.js';
import { zone } from './time-zone.js';

/**
 * @typedef {{ since: string, until: string, bucket_seconds: number, is_complete: boolean,
 *   bars: { start: string, counts: Record<string, number> }[] }} Histogram
 * @typedef {{ from: number, to: number }} Range numbers of edges between bars
 */

const HEIGHT = 110;

/** A pointer that moves less than this, in pixels, selects one bar and not a range. */
const CLICK_PX = 5;

/**
 * Resolves style tokens, which depend on the theme, to colours for a canvas.
 *
 * @param {HTMLElement} place
 */
function coloursOf(place) {
  const probe = document.createElement('span');
  probe.hidden = true;
  place.append(probe);
  /** @param {string} token */
  return (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
}

/**
 * Labels of the time axis in the reader's time zone, with the date where it changes.
 *
 * @param {unknown} _plot
 * @param {number[]} splits
 * @param {number} _axis
 * @param {number} _space
 * @param {number} step seconds
 */
function timeLabels(_plot, splits, _axis, _space, step) {
  let shown = '';
  return splits.map((seconds) => {
    const [date = '', time = ''] = localText(seconds * 1000, zone).split(' ');
    if (step >= 86_400) return date;
    const clock = time.slice(0, step < 60 ? 8 : 5);
    if (date === shown) return clock;
    shown = date;
    return `${clock}\n${date}`;
  });
}

/**
 * Draws the bars, stacked by family. Calls `chosen` with the range during a drag and at its end.
 *
 * @param {HTMLElement} place
 * @param {Histogram} histogram
 * @param {(range: Range, isDone: boolean) => void} chosen
 */
export function drawBars(place, { bars, bucket_seconds: width }, chosen) {
  const starts = bars.map(({ start }) => Date.parse(start) / 1000);
  const first = starts[0] ?? 0;
  const end = (starts.at(-1) ?? 0) + width;
  const counted = bars.map(({ counts }) => familyCounts(counts));
  let below = counted.map(() => 0);
  const stacked = FAMILIES.map((family) => {
    below = counted.map((counts, index) => counts[family] + (below[index] ?? 0));
    return below;
  });
  const colour = coloursOf(place);
  const path = uPlot.paths.bars?.({ size: [0.9], align: 1 });
  /** @param {string} token */
  const series = (token) => ({
    fill: () => colour(token),
    stroke: () => colour(token),
    width: 0,
    points: { show: false },
    ...(path !== undefined && { paths: path }),
  });
  const axis = {
    stroke: () => colour('--dim'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { stroke: () => colour('--line'), width: 1 },
  };
  const plot = new uPlot(
    {
      width: Math.max(place.clientWidth, 200),
      height: HEIGHT,
      // Ticks are at whole hours and days of the reader's time zone.
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
      scales: { x: { range: () => [first, end] }, y: { range: (_plot, _min, max) => [0, Math.max(max, 1)] } },
      legend: { show: false },
      cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
      // The tallest first: the others are drawn over it.
      series: [{}, ...FAMILIES.map((family) => series(`--${family}`)).toReversed()],
      axes: [
        { ...axis, size: 44, values: timeLabels },
        { ...axis, size: 60, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] },
      ],
    },
    [starts, ...stacked.toReversed()],
    place,
  );
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot.redraw());

  /** @param {Range} range */
  function select({ from, to }) {
    const left = plot.valToPos(first + from * width, 'x');
    const right = plot.valToPos(first + to * width, 'x');
    plot.setSelect({ left, width: right - left, top: 0, height: plot.over.clientHeight }, false);
  }
  const barAt = followPointer(plot.over, bars.length, (range, isDone) => {
    select(range);
    chosen(range, isDone);
  });
  showTip(plot.over, (x) => {
    const index = barAt(x);
    const start = starts[index] ?? 0;
    const told = Object.entries(counted[index] ?? {}).filter(([, count]) => count > 0);
    const counts = told.map(([family, count]) => `${family} ${Math.round(count)}`).join(', ');
    return `${clock(start)} – ${clock(start + width)} ${zone}: ${counts === '' ? 'no events' : counts}`;
  });
  return { select };
}

/** @param {number} seconds */
const clock = (seconds) => localText(seconds * 1000, zone);

/**
 * Shows a text about the place under the pointer.
 *
 * @param {HTMLElement} area
 * @param {(x: number) => string} textAt
 */
function showTip(area, textAt) {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  area.append(tip);
  area.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = area.getBoundingClientRect();
    const x = clientX - left;
    tip.textContent = textAt(x);
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(x + 8, width - tip.offsetWidth))}px`;
  });
  area.addEventListener('pointerleave', () => {
    tip.hidden = true;
  });
}

/**
 * Turns a drag by mouse, pen or finger into a range. Vertical movements of a finger scroll the page. Returns the function that
 * finds the bar at a place.
 *
 * @param {HTMLElement} area
 * @param {number} count of bars
 * @param {(range: Range, isDone: boolean) => void} chosen
 */
function followPointer(area, count, chosen) {
  /** @type {number | undefined} */
  let began;
  area.style.touchAction = 'pan-y';
  area.style.cursor = 'crosshair';
  /** @param {number} x */
  const barAt = (x) => Math.max(0, Math.min(count - 1, Math.floor((x / area.clientWidth) * count)));
  /** @param {PointerEvent} event */
  const xOf = (event) => event.clientX - area.getBoundingClientRect().left;
  /**
   * @param {number} start
   * @param {number} end
   */
  const rangeOf = (start, end) => ({
    from: barAt(Math.min(start, end)),
    to: barAt(Math.max(start, end)) + 1,
  });

  area.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    began = xOf(event);
    area.setPointerCapture(event.pointerId);
    chosen(rangeOf(began, began), false);
  });
  area.addEventListener('pointermove', (event) => {
    if (began !== undefined) chosen(rangeOf(began, xOf(event)), false);
  });
  area.addEventListener('pointerup', (event) => {
    if (began === undefined) return;
    const x = xOf(event);
    chosen(rangeOf(began, x), Math.abs(x - began) >= CLICK_PX);
    began = undefined;
  });
  area.addEventListener('pointercancel', () => {
    began = undefined;
  });
  return barAt;
}

/** The families, in the order of their bars from the bottom up. */
export const FAMILIES = /** @type {const} */ (['audit', 'location', 'log', 'alerts', 'other']);

/**
 * The events of a bar by family.
 *
 * @param {Record<string, number>} counts by message type
 */
export function familyCounts(counts) {
  const families = { audit: 0, location: 0, log: 0, alerts: 0, other: 0 };
  for (const [type, count] of Object.entries(counts)) {
    if (type.startsWith('LOCATION_')) families.location += count;
    else if (type === 'AUDIT_LOG_ALL') families.audit += count;
    else if (type === 'ALERT') families.alerts += count;
    else if (type === 'OTHER') families.other += count;
    else families.log += count;
  }
  return families;
}
