import { sql } from 'kysely';
import type { Db } from './database.ts';
import { allOf, timeConditions } from './event-filter.ts';
import { withinTime } from './database.ts';

/**
 * Where the cloud placed a client when an access point heard it. No published text says what `x`, `y` and `unc` count;
 * they are taken to be metres on the floor plan of the access point's floor, from the plan's corner, and how far off
 * that may be.
 */
export interface ClientPosition {
  readonly occurredAt: Date;
  readonly apMac: string | null;
  readonly x: number | null;
  readonly y: number | null;
  readonly unc: number | null;
  readonly lat: number | null;
  readonly lng: number | null;
  /** Strength of the signal in dBm. */
  readonly rssi: number | null;
}

/** Where an access point probably is on its floor plan. */
export interface AccessPointPosition {
  readonly apMac: string;
  readonly x: number;
  readonly y: number;
  /** How many observations say so. */
  readonly observations: number;
}

const TIMEOUT_MS = 1_500;

/** The latest observations of an access point tell as well as all of them where it is. */
const OBSERVATIONS_OF_EACH = 500;

/** Observations of a client from `since` (inclusive) to `until` (exclusive), newest first, in 1.5 seconds or none. */
export async function clientPositions(
  db: Db,
  mac: string,
  since: Date,
  until: Date,
  limit: number,
): Promise<readonly ClientPosition[]> {
  const positions = await withinTime(db, TIMEOUT_MS, async (trx) => {
    const { rows } = await sql<ClientPosition>`
      select occurred_at as "occurredAt", ap_mac::text as "apMac", x, y, unc, lat, lng, rssi
      from location_observations
      where ${allOf([sql`client_mac = ${mac}::macaddr`, ...timeConditions({ since, until })])}
      order by occurred_at desc, event_id desc limit ${limit}`.execute(trx);
    return rows;
  });
  return positions ?? [];
}

/**
 * Estimates where access points are: the centre of the clients that each has heard last, weighted by the amplitude
 * of their signals, so that those beside it count most. Nothing tells the true place; an access point without
 * observations that have x, y and rssi is missing, and so are all when it takes longer than 1.5 seconds.
 */
export async function accessPointPositions(
  db: Db,
  apMacs: readonly string[],
): Promise<readonly AccessPointPosition[]> {
  const positions = await withinTime(db, TIMEOUT_MS, async (trx) => {
    const { rows } = await sql<AccessPointPosition>`
      select asked.mac::text as "apMac", sum(x * weight) / sum(weight) as x, sum(y * weight) / sum(weight) as y,
             count(*)::float8 as observations
      from (select distinct unnest(${apMacs}::macaddr[])) as asked (mac),
      lateral (
        -- An amplitude grows tenfold with 20 dB; readings beyond these bounds are none of a radio.
        select x, y, power(10, least(greatest(rssi, -120), 0) / 20) as weight
        from location_observations
        where ap_mac = asked.mac and x is not null and y is not null and rssi is not null
        order by occurred_at desc limit ${OBSERVATIONS_OF_EACH}
      ) as heard
      group by asked.mac order by asked.mac`.execute(trx);
    return rows;
  });
  return positions ?? [];
}

/** The latest log entries of an access point that are looked through for its name. */
const ENTRIES_OF_EACH = 100;

/**
 * Names of access points by MAC address: what each lately called itself in RADIUS (NAS-Identifier, RFC 2865, 5.32),
 * which is its host name unless somebody set another. One without is missing; so are all when it takes too long.
 */
export async function accessPointNames(
  db: Db,
  apMacs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = await withinTime(db, TIMEOUT_MS, async (trx) => {
    const { rows } = await sql<{ mac: string; name: string }>`
      select asked.mac::text as mac, named.name
      from (select distinct unnest(${apMacs}::macaddr[])) as asked (mac),
      lateral (
        select nas_identifier as name from (
          select nas_identifier, occurred_at from log_entries
          where ap_mac = asked.mac order by occurred_at desc limit ${ENTRIES_OF_EACH}
        ) as latest
        where nas_identifier is not null order by occurred_at desc limit 1
      ) as named`.execute(trx);
    return rows.map(({ mac, name }): [string, string] => [mac, name]);
  });
  return new Map(names);
}
