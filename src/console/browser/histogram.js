import { request } from './api.js';
import { drawBars, FAMILIES, familyCounts } from './histogram-chart.js';
import { localText } from './local-time.js';
import { zone } from './time-zone.js';

// The histogram of a search: bars by family. A range is selected by dragging, or by two sliders and a button, for
// keyboards and screen readers. The range is then searched.

/**
 * @typedef {import('./histogram-chart.js').Histogram} Histogram
 * @typedef {import('./histogram-chart.js').Range} Range
 */

const section = document.querySelector('[data-histogram]');
if (section instanceof HTMLElement) void show(section, section.dataset['histogram'] ?? '');

/**
 * @param {HTMLElement} section
 * @param {string} path
 */
async function show(section, path) {
  try {
    const bars = Math.max(20, Math.min(120, Math.floor(section.clientWidth / 12)));
    draw(section, await request(`${path}&bars=${bars}`));
  } catch (error) {
    const problem = document.createElement('p');
    problem.className = 'note bad';
    problem.textContent = `Can't show events over time: ${error instanceof Error ? error.message : String(error)}`;
    section.replaceChildren(problem);
  }
}

/**
 * @param {HTMLElement} section
 * @param {Histogram} histogram
 */
function draw(section, histogram) {
  const count = histogram.bars.length;
  const edges = edgesOf(histogram);
  const { form, choose } = rangeForm(edges, (range) => chart?.select(range));
  const place = document.createElement('div');
  place.className = 'chart';
  section.replaceChildren(legend(histogram), place, form);
  const chart =
    count === 0
      ? undefined
      : drawBars(place, histogram, (range, isDone) => {
          choose(range);
          if (isDone) search(edges, range);
        });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    search(edges, choose());
  });
  section.dataset['ready'] = '';
}

/**
 * The times between the bars, and the start and end of the range.
 *
 * @param {Histogram} histogram
 * @returns {Date[]}
 */
function edgesOf({ bars, since, until }) {
  return [new Date(since), ...bars.slice(1).map(({ start }) => new Date(start)), new Date(until)];
}

/**
 * @param {Date[]} edges
 * @param {Range} range
 */
function search(edges, { from, to }) {
  const since = edges[from];
  const until = edges[to];
  if (since === undefined || until === undefined) return;
  const address = new URL(location.href);
  address.searchParams.set('since', since.toISOString());
  address.searchParams.set('until', until.toISOString());
  address.searchParams.delete('cursor');
  address.hash = '';
  location.assign(address);
}

const numbers = new Intl.NumberFormat('en');

/** @param {Histogram} histogram */
function legend({ bars, is_complete: isComplete }) {
  const line = document.createElement('p');
  line.className = 'row legend';
  const totals = bars.map(({ counts }) => familyCounts(counts));
  const sum = totals.flatMap((counts) => Object.values(counts)).reduce((all, count) => all + count, 0);
  if (!isComplete && sum === 0) {
    line.textContent =
      'Counting the events of this range takes too long. Choose a shorter range, or add a user, code or MAC address.';
    return line;
  }
  const about = isComplete ? '' : 'about ';
  line.append(`${about}${numbers.format(sum)} ${sum === 1 ? 'event' : 'events'}`);
  if (!isComplete) line.append(badgeOf('estimate from a sample'));
  for (const family of FAMILIES) {
    const count = totals.reduce((all, counts) => all + counts[family], 0);
    if (count === 0) continue;
    const item = document.createElement('span');
    const swatch = document.createElement('span');
    swatch.className = `swatch ${family}`;
    item.append(swatch, ` ${family === 'log' ? 'logs' : family} ${about}${numbers.format(count)}`);
    line.append(item);
  }
  return line;
}

/** @param {string} text */
function badgeOf(text) {
  const badge = document.createElement('span');
  badge.className = 'badge warn';
  badge.textContent = text;
  return badge;
}

/**
 * Two sliders over the edges; the first is always before the second.
 *
 * @param {Date[]} edges
 * @param {(range: Range) => void} changed
 */
export function rangeForm(edges, changed) {
  const last = edges.length - 1;
  const form = document.createElement('form');
  form.className = 'row range';
  const from = slider('From', 0, last - 1, 0);
  const to = slider('To', 1, last, last);
  const button = document.createElement('button');
  button.className = 'quiet';
  button.textContent = 'Search this range';
  form.append(from.label, to.label, button);

  /** @param {Range} [range] */
  function choose(range) {
    const chosen = range ?? { from: from.input.valueAsNumber, to: to.input.valueAsNumber };
    for (const [{ input, output }, at] of /** @type {const} */ ([
      [from, chosen.from],
      [to, chosen.to],
    ])) {
      const time = timeText(edges[at]);
      input.valueAsNumber = at;
      input.setAttribute('aria-valuetext', time);
      output.textContent = time;
    }
    return chosen;
  }

  form.addEventListener('input', ({ target }) => {
    const { from: start, to: end } = choose();
    const isFrom = target === from.input;
    const range = isFrom
      ? { from: start, to: Math.max(end, start + 1) }
      : { from: Math.min(start, end - 1), to: end };
    choose(range);
    changed(range);
  });
  choose();
  form.hidden = last < 2;
  return { form, choose };
}

/**
 * @param {string} name
 * @param {number} min
 * @param {number} max
 * @param {number} value
 */
function slider(name, min, max, value) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  const output = document.createElement('span');
  Object.assign(input, { type: 'range', min: String(min), max: String(max), value: String(value) });
  input.setAttribute('aria-label', name);
  output.setAttribute('aria-hidden', 'true');
  label.append(`${name} `, output, input);
  return { label, input, output };
}

/** @param {Date | undefined} time */
const timeText = (time) => (time === undefined ? '' : localText(time, zone));
