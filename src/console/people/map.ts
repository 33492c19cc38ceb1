import type { VNode } from 'preact';
import { html } from '../html/html.ts';
import type { PlacedAccessPoint, Place } from './client-places.ts';

/** Units of the drawing, about pixels on a wide page. */
const WIDTH = 900;
const MIN_HEIGHT = 320;
const MAX_HEIGHT = 620;
const MARGIN = 56;

/** The faintest that an old place gets. */
const FAINTEST = 0.2;

/**
 * A plan of places in the order of time, oldest first, joined by lines that fade with age, and of access points. All
 * floors are on one plan: the records do not say which is which.
 */
export function mapOf(
  title: string,
  places: readonly Place[],
  accessPoints: readonly PlacedAccessPoint[],
): VNode {
  const { height, at } = scaleOf([...places, ...accessPoints]);
  const opacity = (index: number) =>
    (FAINTEST + (1 - FAINTEST) * (places.length < 2 ? 1 : index / (places.length - 1))).toFixed(2);
  const points = places.map(at);
  const last = points.at(-1);
  return html`
    <div class="scroll map" tabindex="0" role="region" aria-label=${title}>
      <svg viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${title}>
        ${points.slice(1).map(([x, y], index) => {
          const [fromX = 0, fromY = 0] = points[index] ?? [];
          return html`<line
            class="way"
            x1=${fromX}
            y1=${fromY}
            x2=${x}
            y2=${y}
            opacity=${opacity(index + 1)}
          />`;
        })}
        ${accessPoints.map((accessPoint) => accessPointMark(accessPoint, at(accessPoint)))}
        ${points.map(
          ([x, y], index) => html`
            <circle class="place" cx=${x} cy=${y} r="5" opacity=${opacity(index)}>
              <title>${places[index]?.occurredAt.toISOString().slice(0, 19).replace('T', ' ')}</title>
            </circle>
          `,
        )}
        ${last !== undefined && lastMark(last)}
      </svg>
    </div>
  `;
}

type Point = readonly [x: number, y: number];

/** The label stands towards the middle, so that it is not cut off. */
const anchorOf = (x: number) => (x > WIDTH / 2 ? 'end' : 'start');

const offsetOf = (x: number) => (x > WIDTH / 2 ? -12 : 12);

const accessPointMark = ({ mac, name }: PlacedAccessPoint, [x, y]: Point) => html`
  <g class="access-point">
    <rect x=${x - 6} y=${y - 6} width="12" height="12" />
    <text x=${x + offsetOf(x)} y=${y + 4} text-anchor=${anchorOf(x)}>${name ?? mac}</text>
    <title>${name === undefined ? mac : `${name}, ${mac}`}</title>
  </g>
`;

const lastMark = ([x, y]: Point) => html`
  <circle class="last" cx=${x} cy=${y} r="9" />
  <text class="last-label" x=${x + offsetOf(x)} y=${y + 24} text-anchor=${anchorOf(x)}>last seen</text>
`;

interface Located {
  readonly x: number;
  readonly y: number;
}

/** How high the drawing is, and where in it something stands; x and y keep their proportion. */
function scaleOf(all: readonly Located[]): { height: number; at: (one: Located) => Point } {
  const left = Math.min(...all.map(({ x }) => x));
  const top = Math.min(...all.map(({ y }) => y));
  // Less than a metre would be drawn as if it were a long way.
  const spanX = Math.max(1, Math.max(...all.map(({ x }) => x)) - left);
  const spanY = Math.max(1, Math.max(...all.map(({ y }) => y)) - top);
  const room = WIDTH - 2 * MARGIN;
  const scale = Math.min(room / spanX, (MAX_HEIGHT - 2 * MARGIN) / spanY);
  const height = Math.round(Math.max(MIN_HEIGHT, spanY * scale + 2 * MARGIN));
  const startX = (WIDTH - spanX * scale) / 2;
  const startY = (height - spanY * scale) / 2;
  const rounded = (value: number) => Math.round(value * 10) / 10;
  return {
    height,
    at: ({ x, y }) => [rounded(startX + (x - left) * scale), rounded(startY + (y - top) * scale)],
  };
}
