import { sql } from 'kysely';
import type { Db } from './database.ts';
import { withinTime } from './timed-query.ts';

const TIMEOUT_MS = 1_500;

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
