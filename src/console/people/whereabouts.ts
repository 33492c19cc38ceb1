import { searchAddress } from '../addresses.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import { placesOf, staysOf } from './client-places.ts';
import type { ClientPlaces } from './client-places.ts';
import { mapOf } from './map.ts';

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
