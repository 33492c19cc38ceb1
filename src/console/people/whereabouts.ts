import type { VNode } from 'preact';
import { accessPointNames } from '../../store/access-point-names.ts';
import type { Db } from '../../store/database.ts';
import { accessPointPositions, clientPositions } from '../../store/timeline.ts';
import type { ClientPosition } from '../../store/timeline.ts';
import { searchAddress } from '../addresses.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import { timeOf } from '../html/values.ts';
import type { WholeRange } from './people-schemas.ts';

/** Where a client was: on a map where the records place it, else as the access points that heard it. */
export function whereaboutsOf(mac: string, clientPlaces: ClientPlaces, limit: number): Content {
  const { positions, accessPoints, names } = clientPlaces;
  if (positions.length === 0) {
    return html`<p class="empty">
      No access point reported this client in the range. Its whereabouts come with the message types
      <code> LOCATION_AP_CENTRIC</code> and <code>LOCATION_CLIENT_CENTRIC</code>.
    </p>`;
  }
  const places = placesOf(positions);
  const note =
    positions.length === limit &&
    html`<p class="dim">Only the newest ${numberOf(limit)} observations of the range are shown.</p>`;
  if (places.length === 0) {
    return [
      note,
      html`<p>The records of this range do not place the client (no x and y); it was heard by:</p>`,
      staysTable(clientPlaces),
    ];
  }
  return [
    note,
    mapOf(`Map of where ${mac} was`, places, accessPoints),
    html`
      <p class="dim">
        Dots are where the cloud placed the client, joined in the order of time, the older the fainter;
        squares are access points, about where their clients say. All floors are on one plan. Units are taken
        to be metres.
      </p>
      <details>
        <summary>The map as a table</summary>
        ${tableOf(
          'Where the client was, newest first',
          [
            { heading: 'Time (UTC)', cell: ({ occurredAt }) => timeOf(occurredAt) },
            { heading: 'x', kind: 'number', cell: ({ x }) => x.toFixed(1) },
            { heading: 'y', kind: 'number', cell: ({ y }) => y.toFixed(1) },
            { heading: 'Within', kind: 'number', cell: ({ unc }) => unc },
            { heading: 'Heard best by', cell: ({ apMac }) => accessPointName(apMac, names) },
            { heading: 'Signal (dBm)', kind: 'number', cell: ({ rssi }) => rssi },
          ],
          places.toReversed(),
        )}
      </details>
      <details>
        <summary>The access points in order</summary>
        ${staysTable(clientPlaces)}
      </details>
    `,
  ];
}

const staysTable = ({ positions, names }: ClientPlaces) =>
  tableOf(
    'Access points that heard the client best, newest first',
    [
      { heading: 'Access point', cell: ({ apMac }) => accessPointName(apMac, names) },
      { heading: 'From (UTC)', cell: ({ from }) => timeOf(from) },
      { heading: 'To (UTC)', cell: ({ to }) => timeOf(to) },
      { heading: 'Observations', kind: 'number', cell: ({ observations }) => numberOf(observations) },
    ],
    staysOf(positions),
  );

/** The name of an access point where it is known, and its MAC address, which leads to its events. */
export function accessPointName(mac: string | null, names: ReadonlyMap<string, string>): Content {
  if (mac === null) return undefined;
  const name = names.get(mac);
  return html`<a class="mono" href=${searchAddress({ ap: mac })}>${mac}</a
    >${name !== undefined && ` ${name}`}`;
}

/** An access point on a map. */
export interface PlacedAccessPoint {
  readonly mac: string;
  readonly name: string | undefined;
  readonly x: number;
  readonly y: number;
  readonly observations: number;
}

/** Where a client was, and the access points that heard it. */
export interface ClientPlaces {
  /** Newest first. */
  readonly positions: readonly ClientPosition[];
  /** Those whose place can be told. */
  readonly accessPoints: readonly PlacedAccessPoint[];
  /** Names of access points by MAC address, where they are known. */
  readonly names: ReadonlyMap<string, string>;
}

/** Reads the newest `limit` observations of a client in a range. */
export async function readPlaces(
  db: Db,
  mac: string,
  { since, until }: WholeRange,
  limit: number,
): Promise<ClientPlaces> {
  const positions = await clientPositions(db, mac, since, until, limit);
  const macs = [...new Set(positions.flatMap(({ apMac }) => apMac ?? []))];
  const [placed, names] = await Promise.all([accessPointPositions(db, macs), accessPointNames(db, macs)]);
  const accessPoints = placed.map(({ apMac, ...others }) => ({
    mac: apMac,
    name: names.get(apMac),
    ...others,
  }));
  return { positions, accessPoints, names };
}

/** A time at which a client was placed, however many access points say so. */
export interface Place {
  readonly occurredAt: Date;
  readonly x: number;
  readonly y: number;
  /** The access point that heard it best. */
  readonly apMac: string | null;
  readonly unc: number | null;
  readonly rssi: number | null;
}

/** The places of observations that have x and y, in the order of time, oldest first. */
export function placesOf(positions: readonly ClientPosition[]): readonly Place[] {
  return strongestOfEachTime(positions)
    .flatMap(({ x, y, ...others }) => (x === null || y === null ? [] : [{ ...others, x, y }]))
    .toReversed();
}

/** A stay at one access point: it heard the client best from one time to another. */
export interface Stay {
  readonly apMac: string | null;
  readonly from: Date;
  readonly to: Date;
  readonly observations: number;
}

/** At which access points a client was one after another, newest first. */
export function staysOf(positions: readonly ClientPosition[]): readonly Stay[] {
  const stays: Stay[] = [];
  for (const { apMac, occurredAt } of strongestOfEachTime(positions)) {
    const last = stays.at(-1);
    if (last?.apMac === apMac) {
      stays.splice(-1, 1, { ...last, from: occurredAt, observations: last.observations + 1 });
    } else stays.push({ apMac, from: occurredAt, to: occurredAt, observations: 1 });
  }
  return stays;
}

/** Of the observations of one moment, that of the access point which heard the client best. */
function strongestOfEachTime(positions: readonly ClientPosition[]): readonly ClientPosition[] {
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
