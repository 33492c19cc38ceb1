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
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { tableOf } from '../browser/shared/table.js';
import { staysOf } from './intervals.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';

/** Where a client was: the access points that received it, and its positions if the records contain any. */
export function clientLocationOf(clientPlaces: ClientPlaces, limit: number): Content {
  const { positions, names } = clientPlaces;
  if (positions.length === 0) {
    return html`<p class="empty">
      No access point reported this client in this range. Locations are in the message types${' '}
      <code>LOCATION_AP_CENTRIC</code> and <code>LOCATION_CLIENT_CENTRIC</code>.
    </p>`;
  }
  const places = placesOf(positions);
  return html`
    ${
      positions.length === limit &&
      html`<p class="dim">Only the newest ${formatCount(limit)} observations are shown.</p>`
    }
    ${staysTable(clientPlaces)}
    ${
      places.length > 0 &&
      html`<details>
        <summary>Positions on the floor plan</summary>
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
          places,
        )}
      </details>`
    }
  `;
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

/** The positions of observations that have x and y. */
const placesOf = (positions: readonly ClientPosition[]): readonly Place[] =>
  strongestOfEachTime(positions).flatMap(({ x, y, ...others }) =>
    x === null || y === null ? [] : [{ ...others, x, y }],
  );

/** The observation with the strongest signal of each time. */
export function strongestOfEachTime(positions: readonly ClientPosition[]): readonly ClientPosition[] {
  const byTime = Map.groupBy(positions, ({ occurredAt }) => occurredAt.getTime());
  return [...byTime.values()].flatMap((ofOneTime) =>
    ofOneTime.toSorted((a, b) => (b.rssi ?? -Infinity) - (a.rssi ?? -Infinity)).slice(0, 1),
  );
}
