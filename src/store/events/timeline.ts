import { sql, type RawBuilder } from 'kysely';
import type { MessageType } from '../../events/domain.ts';
import { allOf, unionAll } from '../server/condition.ts';
import { timeConditions } from './event-filter.ts';
import type { Db } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { allRowsWithin } from '../server/statement.ts';

/** A device, user, access point or network seen with a user or a client: how often, and when last. */
export interface SeenWith {
  /** A MAC address, a user's name, or an SSID. */
  readonly name: string;
  readonly count: number;
  readonly lastSeen: Date;
}

export type UserSummary = Awaited<ReturnType<typeof summarizeUser>>;

export type ClientSummary = Awaited<ReturnType<typeof summarizeClient>>;

/** These entries name the administrator who had the data of a client deleted or downloaded, who is no user of it. */
const IS_OF_CLIENT = sql`message_type <> 'GDPR_LOG_ALL'`;

const TIMEOUT_MS = 1_500;

const LONGEST_LIST = 50;

/** Summarizes the events of a user, however their name is written, from `since` (inclusive) to `until` (exclusive). Each list has at most 50 entries. */
export async function summarizeUser(db: Db, scope: Scope, user: string, since: Date, until: Date) {
  const inRange = allOf([inScope(scope), ...timeConditions({ since, until })]);
  const audit = sql`audit_events where fold_name(user_name) = fold_name(${user}) and ${inRange}`;
  const log = sql`log_entries where fold_name(username) = fold_name(${user}) and ${inRange}`;
  const own = sql`${log} and ${IS_OF_CLIENT}`;
  const [totals, devices, accessPoints] = await Promise.all([
    totalsOf(db, [audit, log]),
    seenWith(db, 'client_mac', [own], 'last seen'),
    seenWith(db, 'ap_mac', [own], 'most frequent'),
  ]);
  return {
    ...toSummary(totals, [devices, accessPoints]),
    /** MAC addresses of the clients in the user's log entries, last seen first. */
    devices: devices ?? [],
    /** MAC addresses, most frequent first. */
    accessPoints: accessPoints ?? [],
  };
}

/** Summarizes a client's events from `since` (inclusive) to `until` (exclusive). Each list has at most 50 entries. */
export async function summarizeClient(db: Db, scope: Scope, mac: string, since: Date, until: Date) {
  const isClient = allOf([
    inScope(scope),
    sql`client_mac = ${mac}::macaddr`,
    ...timeConditions({ since, until }),
  ]);
  const location = sql`location_observations where ${isClient}`;
  const log = sql`log_entries where ${isClient}`;
  const [totals, users, accessPoints, ssids] = await Promise.all([
    totalsOf(db, [location, log]),
    seenWith(db, 'username', [sql`${log} and ${IS_OF_CLIENT}`], 'last seen'),
    seenWith(db, 'ap_mac', [location, log], 'most frequent'),
    seenWith(db, 'ssid', [location, log], 'most frequent'),
  ]);
  return {
    ...toSummary(totals, [users, accessPoints, ssids]),
    /** Users in the client's log entries, last seen first. */
    users: users ?? [],
    /** MAC addresses, most frequent first. */
    accessPoints: accessPoints ?? [],
    /** Most frequent first. */
    ssids: ssids ?? [],
  };
}

/** Counts the clients of an access point from a time on, and lists its 20 most frequent SSIDs. Undefined after 1.5 seconds. */
export async function summarizeAccessPoint(db: Db, scope: Scope, mac: string, since: Date) {
  const condition = allOf([inScope(scope), sql`ap_mac = ${mac}::macaddr`, ...timeConditions({ since })]);
  const rows = await allRowsWithin<{ clients: number; ssids: string[] }>(db, TIMEOUT_MS)`
      with heard as materialized (
        select client_mac, ssid from location_observations where ${condition}
        union all select client_mac, ssid from log_entries where ${condition} and ${IS_OF_CLIENT}
      )
      select (select count(distinct client_mac) from heard)::float8 as clients,
        array(select ssid from heard where ssid <> '' group by ssid order by count(*) desc, ssid limit 20) as ssids`;
  return rows?.[0];
}

interface Total {
  readonly messageType: MessageType;
  readonly count: number;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

function totalsOf(db: Db, tables: readonly RawBuilder<unknown>[]): Promise<readonly Total[] | undefined> {
  const parts = tables.map(
    (table) => sql`select message_type as "messageType", count(*)::float8 as count,
      min(occurred_at) as "firstSeen", max(occurred_at) as "lastSeen" from ${table} group by message_type`,
  );
  return allRowsWithin<Total>(db, TIMEOUT_MS)`${unionAll(parts)}`;
}

function seenWith(
  db: Db,
  column: 'client_mac' | 'ap_mac' | 'username' | 'ssid',
  tables: readonly RawBuilder<unknown>[],
  order: 'last seen' | 'most frequent',
): Promise<readonly SeenWith[] | undefined> {
  const parts = tables.map(
    (table) => sql`select ${sql.ref(column)}::text as name, occurred_at from ${table}
      and ${sql.ref(column)} is not null`,
  );
  const first = order === 'last seen' ? sql`"lastSeen" desc` : sql`count desc, "lastSeen" desc`;
  return allRowsWithin<SeenWith>(db, TIMEOUT_MS)`
      select min(name) as name, count(*)::float8 as count, max(occurred_at) as "lastSeen"
      from (${unionAll(parts)}) as found
      group by ${column === 'username' ? sql`fold_name(name)` : sql`name`} order by ${first}, 1 limit ${LONGEST_LIST}`;
}

function toSummary(totals: readonly Total[] | undefined, lists: readonly unknown[]) {
  const times = totals?.flatMap(({ firstSeen, lastSeen }) => [firstSeen.getTime(), lastSeen.getTime()]) ?? [];
  const countsByType: Readonly<Partial<Record<MessageType, number>>> = Object.fromEntries(
    totals?.map(({ messageType, count }) => [messageType, count]) ?? [],
  );
  return {
    firstSeen: times.length === 0 ? undefined : new Date(Math.min(...times)),
    lastSeen: times.length === 0 ? undefined : new Date(Math.max(...times)),
    countsByType,
    /** False when a part was left out because its query took too long. */
    isComplete: totals !== undefined && !lists.includes(undefined),
  };
}
