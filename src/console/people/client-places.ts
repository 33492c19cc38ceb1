import type { Db } from '../../store/database.ts';
import { accessPointNames, accessPointPositions, clientPositions } from '../../store/positions.ts';
import type { ClientPosition } from '../../store/positions.ts';
import type { WholeRange } from './people-schemas.ts';

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
