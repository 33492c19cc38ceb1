import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from '../shared/api.js';
import { Chart } from './chart.js';
import { openRange, openRangeBefore } from './range-address.js';

// The histogram of a search. A range that is chosen by dragging is searched; keyboards choose one in the time picker.

/**
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
  const { since, until, bars, bucket_seconds: seconds, is_complete: isComplete } = counted;
  /** @param {number} index of a bar */
  const startOf = (index) => new Date(index === 0 ? since : (bars[index]?.start ?? until));
  return html`
    <${Chart}
      label="Events over time, by family of message types"
      bars=${bars}
      seconds=${seconds}
      height=${HEIGHT}
      isEstimate=${!isComplete}
      onChoose=${(/** @type {import('./chart.js').Range} */ { from, to }) =>
        openRange(startOf(from), startOf(to))}
      onBack=${openRangeBefore}
    />
  `;
}
