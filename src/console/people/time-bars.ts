import type { VNode } from 'preact';
import { formatDuration } from '../../units.ts';
import { localText } from '../browser/local-time.js';
import { html } from '../html/html.ts';
import { inZone } from '../html/time-zone.ts';
import type { Interval } from './intervals.ts';
import type { WholeRange } from './people-schemas.ts';

/** A line of the drawing with its bars. */
export interface Lane {
  readonly label: string;
  readonly bars: readonly (Interval & { readonly text: string; readonly isOpen?: boolean })[];
}

/** Units of the time axis, whatever its width on the page. */
const LENGTH = 1000;
const TICKS = 5;

/** The shortest bar that can still be pointed at. */
const SHORTEST = 3;

/** Intervals as bars on a time axis, a lane each; pointing at a bar shows its times. */
export const timeBars = (title: string, { since, until }: WholeRange, lanes: readonly Lane[]): VNode =>
  inZone((zone) => {
    const length = Math.max(1, until.getTime() - since.getTime());
    const at = (time: Date) =>
      Math.round(Math.min(1, Math.max(0, (time.getTime() - since.getTime()) / length)) * LENGTH);
    const ticks = Array.from(
      { length: TICKS },
      (_, index) => new Date(since.getTime() + (index * length) / TICKS),
    );
    return html`
      <div class="panel bars" role="group" aria-label=${title}>
        ${lanes.map(
          ({ label, bars }) => html`
            <span class="lane">${label}</span>
            <svg
              viewBox=${`0 0 ${LENGTH} 1`}
              preserveAspectRatio="none"
              role="img"
              aria-label=${`${label}: ${bars.map((bar) => describe(bar, zone)).join('; ')}`}
            >
              ${bars.map((bar) => {
                const width = Math.max(SHORTEST, at(bar.to) - at(bar.from));
                return html`
                  <rect
                    class=${bar.isOpen === true ? 'open' : undefined}
                    x=${Math.min(at(bar.from), LENGTH - width)}
                    y="0"
                    width=${width}
                    height="1"
                  >
                    <title>${`${bar.text}\n${describe(bar, zone)}`}</title>
                  </rect>
                `;
              })}
            </svg>
          `,
        )}
        <div class="ticks" aria-hidden="true">
          ${ticks.map((tick) => html`<span>${localText(tick, zone).slice(5, 16)}</span>`)}
        </div>
      </div>
    `;
  });

function describe({ from, to, isOpen }: Lane['bars'][number], zone: string): string {
  const length = formatDuration((to.getTime() - from.getTime()) / 1000);
  return isOpen === true
    ? `${localText(from, zone)}, no end known`
    : `${localText(from, zone)} to ${localText(to, zone)} (${length})`;
}
