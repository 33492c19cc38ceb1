import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, FAMILY_OF, MESSAGE_TYPES, type Family, type MessageType } from '../domain.ts';
import { NOT_SUPERSEDED } from './history.ts';
import { inScope, type Scope } from './scope.ts';

/** Conditions on events. All conditions that are given must hold. */
export interface EventFilter {
  /** One of these types. An empty list is no condition. */
  readonly messageTypes?: readonly MessageType[] | undefined;
  readonly source?: string | undefined;
  /** User name, exactly. */
  readonly user?: string | undefined;
  /** The audit record's event code. */
  readonly code?: string | undefined;
  /** Organization. */
  readonly orgId?: string | undefined;
  /** MAC address of a client or an access point, in any notation that Postgres accepts. */
  readonly mac?: string | undefined;
  /** MAC address of the access point only. */
  readonly accessPoint?: string | undefined;
  /** A device's serial number, host name or id, exactly. */
  readonly device?: string | undefined;
  /** Part of the record's text (JSON as Postgres prints it), in any case. */
  readonly text?: string | undefined;
  /** Inclusive. */
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

/** An SQL condition on the columns of one family's table. */
export type Condition = RawBuilder<unknown>;

/** The rows of one family's table that match a filter: those of all branches. No row is in two branches. */
export interface FamilyQuery {
  readonly family: Family;
  /** Apply to every branch. */
  readonly conditions: readonly Condition[];
  readonly branches: readonly Branch[];
}

/** Rows that one index can find. */
interface Branch {
  readonly condition: Condition;
  /** Whether an index returns the rows in order of time, so that no more are read than a page needs. */
  readonly isOrdered: boolean;
}

/** The query for each table, without the filter's time range. A family that cannot match is left out. */
export function familyQueries(scope: Scope, filter: EventFilter): readonly FamilyQuery[] {
  return FAMILIES.flatMap((family) => {
    const types = typesOf(family, filter.messageTypes);
    const branches = branchesOf(family, filter);
    if (types === 'none' || branches.length === 0 || !canHold(family, filter)) return [];
    const conditions: Condition[] = [inScope(scope), NOT_SUPERSEDED, ...columnConditions(family, filter)];
    if (types !== 'all') conditions.push(sql`message_type in (${sql.join(types)})`);
    return [{ family, conditions, branches }];
  });
}

/** Whether the filter has a condition that an index serves. */
export const isIndexed = ({ user, code, mac, accessPoint, device }: EventFilter): boolean =>
  [user, code, mac, accessPoint, device].some((condition) => condition !== undefined);

/** The filter's time range as a condition. */
export function timeConditions({ since, until }: Pick<EventFilter, 'since' | 'until'>): readonly Condition[] {
  return [
    ...(since === undefined ? [] : [sql`occurred_at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`occurred_at < ${until}::timestamptz`]),
  ];
}

/** All of these conditions; true when there are none. */
export const allOf = (conditions: readonly Condition[]): Condition =>
  conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);

const TYPES_OF: Readonly<Record<Family, readonly MessageType[]>> = {
  audit: MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === 'audit'),
  location: MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === 'location'),
  log: MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === 'log'),
};

function typesOf(
  family: Family,
  asked: EventFilter['messageTypes'],
): 'all' | 'none' | readonly MessageType[] {
  if (asked === undefined || asked.length === 0) return 'all';
  const types = TYPES_OF[family].filter((type) => asked.includes(type));
  if (types.length === 0) return 'none';
  return types.length === TYPES_OF[family].length ? 'all' : types;
}

/** The column of the user name; observations have none. */
const USER_COLUMN: Readonly<Record<Family, 'user_name' | 'username' | undefined>> = {
  audit: 'user_name',
  location: undefined,
  log: 'username',
};

function canHold(family: Family, { user, code, accessPoint }: EventFilter): boolean {
  if (user !== undefined && USER_COLUMN[family] === undefined) return false;
  if (code !== undefined && family !== 'audit') return false;
  return accessPoint === undefined || family !== 'audit';
}

function* columnConditions(family: Family, filter: EventFilter): Generator<Condition> {
  const { source, user, code, orgId, accessPoint, text } = filter;
  const userColumn = USER_COLUMN[family];
  if (source !== undefined) yield sql`source = ${source}`;
  if (user !== undefined && userColumn !== undefined) yield sql`${sql.ref(userColumn)} = ${user}`;
  if (code !== undefined) yield sql`code = ${code}::bigint`;
  if (orgId !== undefined) yield sql`org_id = ${orgId}::bigint`;
  if (accessPoint !== undefined) yield sql`ap_mac = ${accessPoint}::macaddr`;
  if (text !== undefined) yield contains(text);
}

/**
 * ASCII text is compared byte by byte, which avoids the rules of a language and, without letters, the conversion to
 * lower case. The result is the same, except that only those rules treat the Kelvin sign as a K.
 */
function contains(text: string): Condition {
  const isAscii = Buffer.byteLength(text) === text.length;
  if (!isAscii) return sql`payload::text ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;
  const lower = text.toLowerCase();
  if (lower === text.toUpperCase()) return sql`strpos(payload::text collate "C", ${text}) > 0`;
  return sql`strpos(lower(payload::text collate "C"), ${lower}) > 0`;
}

/**
 * A search for text alone reads a stretch of time completely, in the order of its rows on disk: newest first, against
 * that order, a day that was not in memory took 3 to 5 times as long.
 */
const isReadWhole = (filter: EventFilter): boolean => filter.text !== undefined && !isIndexed(filter);

function branchesOf(family: Family, filter: EventFilter): readonly Branch[] {
  const { mac, device } = filter;
  const byMac = mac === undefined ? [EVERYTHING] : macBranches(family, mac);
  const byDevice = device === undefined ? [EVERYTHING] : deviceBranches(family, device);
  return byMac.flatMap((one) =>
    byDevice.map((other) => ({
      condition: sql`${one.condition} and ${other.condition}`,
      isOrdered: one.isOrdered && other.isOrdered && !isReadWhole(filter),
    })),
  );
}

const EVERYTHING: Branch = { condition: sql`true`, isOrdered: true };

function macBranches(family: Family, mac: string): readonly Branch[] {
  if (family === 'audit') return [];
  return [
    { condition: sql`client_mac = ${mac}::macaddr`, isOrdered: true },
    {
      condition: sql`ap_mac = ${mac}::macaddr and client_mac is distinct from ${mac}::macaddr`,
      isOrdered: true,
    },
  ];
}

const MAX_INT64 = 2n ** 63n - 1n;

function deviceBranches(family: Family, device: string): readonly Branch[] {
  switch (family) {
    case 'location':
      return [];
    case 'log':
      return [{ condition: sql`device_serial_number = ${device}`, isOrdered: true }];
    case 'audit': {
      const byName = sql`host_names @> array[${device}]::text[]`;
      const names: Branch = { condition: byName, isOrdered: false };
      if (!/^\d{1,19}$/.test(device) || BigInt(device) > MAX_INT64) return [names];
      const byId = sql`device_ids @> array[${device}]::bigint[] and (${byName}) is not true`;
      return [names, { condition: byId, isOrdered: false }];
    }
  }
}
