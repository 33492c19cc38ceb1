import type { VNode } from 'preact';
import {
  accessPointNames,
  accessPointPositions,
  clientPositions,
  type ClientPosition,
} from '../../store/events/positions.ts';
import type { Db } from '../../store/server/database.ts';
import type { Scope } from '../../store/server/scope.ts';
import { formatCount } from '../../lib/text/units.ts';
import { accessPointAddress } from '../addresses.ts';
import { localText } from '../browser/shared/local-time.js';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { inZone } from '../html/time-zone.ts';
import { tableOf } from '../browser/shared/table.js';
import { staysOf } from './intervals.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';

/** Where a client was: on a map if the records contain positions, else as a list of access points. */
export function clientLocationOf(mac: string, clientPlaces: ClientPlaces, limit: number): Content {
  const { positions, accessPoints, names } = clientPlaces;
  if (positions.length === 0) {
    return html`<p class="empty">
      No access point reported this client in this range. Locations are in the message types${' '}
      <code>LOCATION_AP_CENTRIC</code> and <code>LOCATION_CLIENT_CENTRIC</code>.
    </p>`;
  }
  const places = placesOf(positions);
  const note =
    positions.length === limit &&
    html`<p class="dim">Only the newest ${formatCount(limit)} observations are shown.</p>`;
  if (places.length === 0) {
    return [
      note,
      html`<p>
        The records of this range contain no positions (x and y). These access points received the client:
      </p>`,
      staysTable(clientPlaces),
    ];
  }
  return [
    note,
    inZone((zone) => mapOf(`Map of the positions of ${mac}`, places, accessPoints, zone)),
    html`
      <p class="dim">
        Dots are positions of the client, connected in time order; older ones are fainter, and pointing at one
        shows its time. Squares are access points at estimated positions. All floors are on one plan. Units
        are assumed to be metres.
      </p>
      <details>
        <summary>Show as table</summary>
        ${tableOf(
          'Positions of the client, newest first',
          [
            { heading: { time: 'Time' }, cell: ({ occurredAt }) => timeOf(occurredAt) },
            { heading: 'x', kind: 'number', cell: ({ x }) => x.toFixed(1) },
            { heading: 'y', kind: 'number', cell: ({ y }) => y.toFixed(1) },
            { heading: 'Uncertainty', kind: 'number', cell: ({ unc }) => unc },
            { heading: 'Strongest access point', cell: ({ apMac }) => accessPointName(apMac, names) },
            { heading: 'Signal (dBm)', kind: 'number', cell: ({ rssi }) => rssi },
          ],
          places.toReversed(),
        )}
      </details>
      <details>
        <summary>Access points over time</summary>
        ${staysTable(clientPlaces)}
      </details>
    `,
  ];
}

const staysTable = ({ positions, names }: ClientPlaces) =>
  tableOf(
    'Strongest access points over time, newest first',
    [
      { heading: 'Access point', cell: ({ apMac }) => accessPointName(apMac, names) },
      { heading: { time: 'From' }, cell: ({ from }) => timeOf(from) },
      { heading: { time: 'To' }, cell: ({ to }) => timeOf(to) },
      { heading: 'Observations', kind: 'number', cell: ({ sightings }) => formatCount(sightings) },
    ],
    staysOf(strongestOfEachTime(positions)).toReversed(),
  );

/** The MAC address of an access point, which links to its page, and its name if known. */
export function accessPointName(mac: string | null, names: ReadonlyMap<string, string>): Content {
  if (mac === null) return undefined;
  const name = names.get(mac);
  return html`<a class="mono" href=${accessPointAddress(mac)}>${mac}</a>${name !== undefined && ` ${name}`}`;
}

type ClientPlaces = Awaited<ReturnType<typeof readPlaces>>;

type PlacedAccessPoint = ClientPlaces['accessPoints'][number];

/**
 * Reads the newest `limit` observations of a client in a range, the access points that have an estimated position, and the
 * known names of all, by MAC address.
 */
export async function readPlaces(
  db: Db,
  scope: Scope,
  mac: string,
  { since, until }: WholeRange,
  limit: number,
) {
  const positions = await clientPositions(db, scope, mac, since, until, limit);
  const macs = [...new Set(positions.flatMap(({ apMac }) => apMac ?? []))];
  const [placed, names] = await Promise.all([
    accessPointPositions(db, scope, macs),
    accessPointNames(db, scope, macs),
  ]);
  const accessPoints = placed.map(({ apMac, ...others }) => ({
    mac: apMac,
    name: names.get(apMac),
    ...others,
  }));
  return { positions, accessPoints, names };
}

/** The position of a client at one time, whichever number of access points reported it. */
type Place = ClientPosition & { readonly x: number; readonly y: number };

/** The positions of observations that have x and y, oldest first. */
function placesOf(positions: readonly ClientPosition[]): readonly Place[] {
  return strongestOfEachTime(positions)
    .flatMap(({ x, y, ...others }) => (x === null || y === null ? [] : [{ ...others, x, y }]))
    .toReversed();
}

/** The observation with the strongest signal of each time. */
export function strongestOfEachTime(positions: readonly ClientPosition[]): readonly ClientPosition[] {
  const byTime = Map.groupBy(positions, ({ occurredAt }) => occurredAt.getTime());
  return [...byTime.values()].flatMap((ofOneTime) =>
    ofOneTime.toSorted((a, b) => (b.rssi ?? -Infinity) - (a.rssi ?? -Infinity)).slice(0, 1),
  );
}

/** Units of the drawing, about pixels on a wide page. */
const WIDTH = 900;
const MIN_HEIGHT = 320;
const MAX_HEIGHT = 620;
const MARGIN = 56;

/** The opacity of the oldest position. */
const FAINTEST = 0.2;

/**
 * A plan of positions, oldest first, connected by lines that fade with age, and of access points. All floors are on one
 * plan because the records do not name the floor.
 */
function mapOf(
  title: string,
  places: readonly Place[],
  accessPoints: readonly PlacedAccessPoint[],
  zone: string,
): VNode {
  const timeAt = (index: number) => localText(places[index]?.occurredAt ?? 0, zone);
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
          return html`<line class="way" x1=${fromX} y1=${fromY} x2=${x} y2=${y} opacity=${opacity(index + 1)}>
            <title>${`${timeAt(index)} to ${timeAt(index + 1)}`}</title>
          </line>`;
        })}
        ${accessPoints.map((accessPoint) => accessPointMark(accessPoint, at(accessPoint)))}
        ${points.map(
          ([x, y], index) => html`
            <circle class="place" cx=${x} cy=${y} r="5" opacity=${opacity(index)}>
              <title>${timeAt(index)}</title>
            </circle>
          `,
        )}
        ${last !== undefined && lastMark(last)}
      </svg>
    </div>
  `;
}

type Point = readonly [x: number, y: number];

/** Labels extend towards the middle, so that they are not cut off. */
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

type Located = Pick<Place, 'x' | 'y'>;

/** The height of the drawing, and the point of a position in it; x and y have the same scale. */
function scaleOf(all: readonly Located[]): { height: number; at: (one: Located) => Point } {
  const left = Math.min(...all.map(({ x }) => x));
  const top = Math.min(...all.map(({ y }) => y));
  // A span of less than a metre would look like a long distance.
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
