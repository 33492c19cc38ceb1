import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { request } from '../shared/api.js';
import { Chart } from './chart.js';
import { localText } from '../shared/local-time.js';
import { openRange, openRangeBefore } from './range-address.js';
import { zone } from '../shared/time-zone.js';

// The histogram of a search. A range is chosen by dragging, or by two sliders and a button, for keyboards and screen
// readers. The range is then searched.

/**
 * @typedef {import('./chart.js').Range} Range
 * @typedef {{ since: string, until: string, bucket_seconds: number, is_complete: boolean,
 *   bars: import('./chart.js').Bar[] }} Counted
 */

const HEIGHT = 110;

const section = document.querySelector('[data-histogram]');
if (section instanceof HTMLElement) render(html`<${Histogram} section=${section} />`, section);

/** @param {{ section: HTMLElement }} props */
function Histogram({ section }) {
  const [counted, setCounted] = useState(/** @type {Counted | Error | undefined} */ (undefined));
  useEffect(() => {
    const bars = Math.max(20, Math.min(120, Math.floor(section.clientWidth / 12)));
    request(`${section.dataset['histogram']}&bars=${bars}`).then(setCounted, setCounted);
  }, []);
  useEffect(() => {
    if (counted !== undefined) section.dataset['ready'] = '';
  }, [counted]);
  if (counted === undefined) return null;
  if (counted instanceof Error) {
    return html`<p class="note bad">Can't show events over time: ${counted.message}</p>`;
  }
  if (!counted.is_complete && counted.bars.every(({ counts }) => Object.keys(counts).length === 0)) {
    return html`<p class="legend">
      Counting the events of this range takes too long. Choose a shorter range, or add a user, code or MAC
      address.
    </p>`;
  }
  return html`<${ChosenRange} ...${counted} />`;
}

/** @param {Counted} props */
function ChosenRange({ since, until, bars, bucket_seconds: seconds, is_complete: isComplete }) {
  const [chosen, setChosen] = useState(/** @type {Range | undefined} */ (undefined));
  const edges = useMemo(
    () => [new Date(since), ...bars.slice(1).map(({ start }) => new Date(start)), new Date(until)],
    [bars],
  );
  /** @param {Range} range */
  const search = ({ from, to }) => {
    const [start, end] = [edges[from], edges[to]];
    if (start !== undefined && end !== undefined) openRange(start, end);
  };
  const { from, to } = chosen ?? { from: 0, to: edges.length - 1 };
  return html`
    <${Chart}
      label="Events over time, by family of message types"
      bars=${bars}
      seconds=${seconds}
      height=${HEIGHT}
      isEstimate=${!isComplete}
      chosen=${chosen}
      onChoose=${(/** @type {Range} */ range, /** @type {boolean} */ isDone) => {
        setChosen(range);
        if (isDone) search(range);
      }}
      onBack=${openRangeBefore}
    />
    <form
      class="row range"
      hidden=${edges.length < 3}
      onSubmit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        search({ from, to });
      }}
    >
      <${Slider}
        name="From"
        edges=${edges}
        at=${from}
        onMove=${(/** @type {number} */ at) => {
          const start = Math.min(at, edges.length - 2);
          setChosen({ from: start, to: Math.max(to, start + 1) });
        }}
      />
      <${Slider}
        name="To"
        edges=${edges}
        at=${to}
        onMove=${(/** @type {number} */ at) => {
          const end = Math.max(at, 1);
          setChosen({ from: Math.min(from, end - 1), to: end });
        }}
      />
      <button class="quiet">Search this range</button>
    </form>
  `;
}

/** @param {{ name: string, edges: readonly Date[], at: number, onMove: (at: number) => void }} props */
function Slider({ name, edges, at, onMove }) {
  const edge = edges[at];
  const time = edge === undefined ? '' : localText(edge, zone);
  return html`
    <label>
      ${name}${' '}
      <span aria-hidden="true">${time}</span>
      <input
        type="range"
        min="0"
        max=${edges.length - 1}
        value=${at}
        aria-label=${name}
        aria-valuetext=${time}
        onInput=${(/** @type {InputEvent} */ { target }) => {
          if (target instanceof HTMLInputElement) onMove(target.valueAsNumber);
        }}
      />
    </label>
  `;
}
