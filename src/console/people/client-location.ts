import type { ClientPosition } from '../../store/events/positions.ts';
import { formatCount } from '../../lib/text/units.ts';
import { accessPointAddress } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { tableOf } from '../browser/shared/table.ts';
import type { Stay } from './intervals.ts';

/** The access points that received a client best, with the times of each stay. */
export const staysTable = (stays: readonly Stay[], names: ReadonlyMap<string, string>) =>
  tableOf(
    'Strongest access points over time, newest first',
    [
      { heading: 'Access point', cell: ({ apMac }) => accessPointName(apMac, names) },
      { heading: { time: 'From' }, cell: ({ from }) => timeOf(from) },
      { heading: { time: 'To' }, cell: ({ to }) => timeOf(to) },
      { heading: 'Observations', kind: 'number', cell: ({ sightings: times }) => formatCount(times) },
    ],
    stays.toReversed(),
  );

/** The MAC address of an access point, which links to its page, and its name if known. */
export function accessPointName(mac: string | null, names: ReadonlyMap<string, string>): Content {
  if (mac === null) return undefined;
  const name = names.get(mac);
  return html`<a class="mono" href=${accessPointAddress(mac)}>${mac}</a>${name !== undefined && ` ${name}`}`;
}

/** The observation with the strongest signal of each time. */
export function strongestOfEachTime(positions: readonly ClientPosition[]): readonly ClientPosition[] {
  const byTime = Map.groupBy(positions, ({ occurredAt }) => occurredAt.getTime());
  return [...byTime.values()].flatMap((ofOneTime) =>
    ofOneTime.toSorted((a, b) => (b.rssi ?? -Infinity) - (a.rssi ?? -Infinity)).slice(0, 1),
  );
}
