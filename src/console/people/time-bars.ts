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

/** Units of the drawing, about pixels on a wide page. */
const WIDTH = 1000;
const LABELS = 190;
const LANE = 22;
const AXIS = 24;
const TICKS = 5;

/** The shortest bar that can still be pointed at. */
const SHORTEST = 3;

/** Intervals as bars on a time axis, a lane each; pointing at a bar shows its times. */
export const timeBars = (title: string, { since, until }: WholeRange, lanes: readonly Lane[]): VNode =>
  inZone((zone) => {
    const length = Math.max(1, until.getTime() - since.getTime());
    const at = (time: Date) => {
      const share = (time.getTime() - since.getTime()) / length;
      return Math.round((LABELS + Math.min(1, Math.max(0, share)) * (WIDTH - LABELS)) * 10) / 10;
    };
    const height = lanes.length * LANE + AXIS;
    const ticks = Array.from(
      { length: TICKS },
      (_, index) => new Date(since.getTime() + (index * length) / TICKS),
    );
    return html`
      <div class="scroll bars" tabindex="0" role="region" aria-label=${title}>
        <svg viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${title}>
          ${ticks.map(
            (tick) => html`
              <line class="tick" x1=${at(tick)} x2=${at(tick)} y1="0" y2=${height - AXIS + 4} />
              <text class="time" x=${at(tick) + 3} y=${height - 7}
                >${localText(tick, zone).slice(5, 16)}</text
              >
            `,
          )}
          ${lanes.map(
            ({ label, bars }, index) => html`
              <text class="lane" x="8" y=${index * LANE + 15}>${label}</text>
              ${bars.map(({ from, to, text, isOpen }) => {
                const seconds = (to.getTime() - from.getTime()) / 1000;
                return html`
                  <rect
                    class=${isOpen === true ? 'open' : undefined}
                    x=${Math.min(at(from), WIDTH - SHORTEST)}
                    y=${index * LANE + 4}
                    width=${Math.max(SHORTEST, at(to) - at(from))}
                    height=${LANE - 8}
                  >
                    <title>
                      ${`${text}\n${localText(from, zone)} to ${isOpen === true ? 'now, as far as is known' : localText(to, zone)} (${formatDuration(seconds)})`}
                    </title>
                  </rect>
                `;
              })}
            `,
          )}
        </svg>
      </div>
    `;
  });
