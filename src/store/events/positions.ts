import type { WholeRange } from '../../lib/text/parse-time.ts';
import { withinTime, type Db } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { allRowsWithin } from '../server/statement.ts';

/**
 * The position of a client when an access point heard it. The units of `x`, `y` and `unc` are not documented; they are
 * taken to be metres from the corner of the access point's floor plan, and the uncertainty of that. `rssi` is the strength
 * of the signal in dBm.
 */
export type ClientPosition = Awaited<ReturnType<typeof clientPositions>>[number];

/** The estimated position of an access point on its floor plan. */
export interface AccessPointPosition {
  readonly apMac: string;
  readonly x: number;
  readonly y: number;
  /** The number of observations that the estimate is made from. */
  readonly observations: number;
}

const TIMEOUT_MS = 1_500;

/** The latest observations of an access point give as good an estimate as all of them. */
const OBSERVATIONS_OF_EACH = 500;

/** Observations of a client from `since` (inclusive) to `until` (exclusive), newest first. Empty after 1.5 seconds. */
export async function clientPositions(
  db: Db,
  scope: Scope,
  mac: string,
  { since, until }: WholeRange,
  limit: number,
) {
  const positions = await withinTime(db, TIMEOUT_MS, (trx) =>
    trx
      .selectFrom('location_observations')
      .select(['occurred_at as occurredAt', 'ap_mac as apMac', 'x', 'y', 'unc', 'lat', 'lng', 'rssi'])
      .where(inScope(scope))
      .where('client_mac', '=', mac)
      .where('occurred_at', '>=', since)
      .where('occurred_at', '<', until)
      .orderBy('occurred_at', 'desc')
      .orderBy('event_id', 'desc')
      .limit(limit)
      .execute(),
  );
  return positions ?? [];
}

/**
 * Estimates the positions of access points: the centre of the clients that each heard last, weighted by the amplitude of
 * their signals, so that the nearest count most. The true positions are not known. An access point without
 * observations that have x, y and rssi is left out. The result is empty when the query takes longer than 1.5 seconds.
 */
export async function accessPointPositions(
  db: Db,
  scope: Scope,
  apMacs: readonly string[],
): Promise<readonly AccessPointPosition[]> {
  const positions = await allRowsWithin<AccessPointPosition>(db, TIMEOUT_MS)`
      select asked.mac::text as "apMac", sum(x * weight) / sum(weight) as x, sum(y * weight) / sum(weight) as y,
             count(*)::float8 as observations
      from (select distinct unnest(${apMacs}::macaddr[])) as asked (mac),
      lateral (
        -- The amplitude grows tenfold with 20 dB. Readings beyond these bounds are impossible for a radio.
        select x, y, power(10, least(greatest(rssi, -120), 0) / 20) as weight
        from location_observations
        where ap_mac = asked.mac and x is not null and y is not null and rssi is not null
          and ${inScope(scope)}
        order by occurred_at desc limit ${OBSERVATIONS_OF_EACH}
      ) as heard
      group by asked.mac order by asked.mac`;
  return positions ?? [];
}

/** The number of latest log entries of an access point that are searched for its name. */
const ENTRIES_OF_EACH = 100;

/**
 * Names of access points by MAC address: the latest NAS-Identifier in RADIUS (RFC 2865, section 5.32), which is the host
 * name unless somebody set another. An access point without one is left out. Empty after 1.5 seconds.
 */
export async function accessPointNames(db: Db, scope: Scope, apMacs: readonly string[]) {
  const names = await allRowsWithin<{ mac: string; name: string }>(db, TIMEOUT_MS)`
      select asked.mac::text as mac, named.name
      from (select distinct unnest(${apMacs}::macaddr[])) as asked (mac),
      lateral (
        select nas_identifier as name from (
          select nas_identifier, occurred_at from log_entries
          where ap_mac = asked.mac and ${inScope(scope)} order by occurred_at desc limit ${ENTRIES_OF_EACH}
        ) as latest
        where nas_identifier is not null order by occurred_at desc limit 1
      ) as named`;
  return new Map(names?.map(({ mac, name }) => [mac, name]));
}
