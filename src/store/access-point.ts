import { sql } from 'kysely';
import { allOf } from './condition.ts';
import { withinTime, type Db } from './database.ts';
import { timeConditions } from './event-filter.ts';
import { inScope, type Scope } from './scope.ts';

/** Clients and networks of an access point in a time range. */
export interface AccessPointActivity {
  /** MAC addresses of clients, each counted once. */
  readonly clients: number;
  /** Most frequent first, at most 20. */
  readonly ssids: readonly string[];
}

const TIMEOUT_MS = 1_500;

/** Counts the clients of an access point from a time on, and lists its SSIDs. Undefined after 1.5 seconds. */
export async function summarizeAccessPoint(
  db: Db,
  scope: Scope,
  mac: string,
  since: Date,
): Promise<AccessPointActivity | undefined> {
  const condition = allOf([inScope(scope), sql`ap_mac = ${mac}::macaddr`, ...timeConditions({ since })]);
  return withinTime(db, TIMEOUT_MS, async (trx) => {
    const { rows } = await sql<AccessPointActivity>`
      with heard as materialized (
        select client_mac, ssid from location_observations where ${condition}
        union all select client_mac, ssid from log_entries where ${condition} and message_type <> 'GDPR_LOG_ALL'
      )
      select (select count(distinct client_mac) from heard)::float8 as clients,
        array(select ssid from heard where ssid <> '' group by ssid order by count(*) desc, ssid limit 20) as ssids`.execute(
      trx,
    );
    return rows[0];
  });
}
