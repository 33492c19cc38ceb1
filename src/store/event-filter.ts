import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, typesOfFamily, type Family, type MessageType } from '../domain.ts';
import { TABLE_OF } from '../message-types.ts';
import { allOf, contains, NOT_SUPERSEDED, type Condition } from './condition.ts';
import type { SearchTerm } from '../search-query.ts';
import { inScope, type Scope } from './scope.ts';
import { areIndexed, hasStations, termConditions, typesOfTerms, userColumn } from './search-terms.ts';

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
  /** A device's serial number, host name or id, or an alert's source by id or name, exactly. */
  readonly device?: string | undefined;
  /** Part of the record's text (JSON as Postgres prints it), in any case. */
  readonly text?: string | undefined;
  /** The terms of a search line. */
  readonly terms?: readonly SearchTerm[] | undefined;
  /** Inclusive. */
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

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
  const allowed = typesOfFilter(filter);
  return FAMILIES.flatMap((family) => {
    const types = typesOf(family, allowed);
    const branches = branchesOf(family, filter);
    const searched = termConditions(family, filter.terms ?? []);
    if (types === 'none' || branches.length === 0 || searched === undefined || !canHold(family, filter))
      return [];
    const conditions: Condition[] = [
      inScope(scope),
      NOT_SUPERSEDED,
      ...columnConditions(family, filter),
      ...searched,
    ];
    if (types !== 'all') conditions.push(sql`message_type in (${sql.join(types)})`);
    return [{ family, conditions, branches }];
  });
}

/**
 * A select for each branch of these queries, of the rows that meet some more conditions. `columnsOf` names what is selected
 * of a family; undefined: nothing.
 */
export function selectsOf(
  queries: readonly FamilyQuery[],
  more: readonly Condition[],
  columnsOf: (family: Family) => Condition | undefined,
): readonly RawBuilder<unknown>[] {
  return queries.flatMap(({ family, conditions, branches }) => {
    const columns = columnsOf(family);
    if (columns === undefined) return [];
    return branches.map(
      ({ condition }) => sql`select ${columns} from ${sql.table(TABLE_OF[family])}
  where ${allOf([...more, ...conditions, condition])}`,
    );
  });
}

/** Whether the filter has a condition that an index serves. */
export const isIndexed = ({ user, code, mac, accessPoint, device, terms = [] }: EventFilter): boolean =>
  [user, code, mac, accessPoint, device].some((condition) => condition !== undefined) || areIndexed(terms);

/** Whether the filter has a condition on any part of the record. */
export const hasText = ({ text, terms = [] }: EventFilter): boolean =>
  text !== undefined || terms.some(({ key }) => key === 'text');

/** The filter's time range as a condition. */
export function timeConditions({ since, until }: Pick<EventFilter, 'since' | 'until'>): readonly Condition[] {
  return [
    ...(since === undefined ? [] : [sql`occurred_at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`occurred_at < ${until}::timestamptz`]),
  ];
}

/** The message types that a filter allows. */
function typesOfFilter({ messageTypes = [], terms = [] }: EventFilter): readonly MessageType[] {
  const types = typesOfTerms(terms);
  return messageTypes.length === 0 ? types : types.filter((type) => messageTypes.includes(type));
}

function typesOf(family: Family, asked: readonly MessageType[]): 'all' | 'none' | readonly MessageType[] {
  const all = typesOfFamily(family);
  const types = all.filter((type) => asked.includes(type));
  if (types.length === 0) return 'none';
  return types.length === all.length ? 'all' : types;
}

function canHold(family: Family, { user, code, accessPoint }: EventFilter): boolean {
  if (user !== undefined && userColumn(family) === undefined) return false;
  if (code !== undefined && family !== 'audit') return false;
  return accessPoint === undefined || hasStations(family);
}

function* columnConditions(family: Family, filter: EventFilter): Generator<Condition> {
  const { source, user, code, orgId, accessPoint, text } = filter;
  const name = userColumn(family);
  if (source !== undefined) yield sql`source = ${source}`;
  if (user !== undefined && name !== undefined) yield sql`${name} = ${user}`;
  if (code !== undefined) yield sql`code = ${code}::bigint`;
  if (orgId !== undefined) yield sql`org_id = ${orgId}::bigint`;
  if (accessPoint !== undefined) yield sql`ap_mac = ${accessPoint}::macaddr`;
  if (text !== undefined) yield contains(text);
}

/**
 * A search for text alone reads a stretch of time completely, in the order of its rows on disk: newest first, against
 * that order, a day that was not in memory took 3 to 5 times as long.
 */
const isReadWhole = (filter: EventFilter): boolean => hasText(filter) && !isIndexed(filter);

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

const inOrder = (condition: Condition): Branch => ({ condition, isOrdered: true });

const EVERYTHING = inOrder(sql`true`);

function macBranches(family: Family, mac: string): readonly Branch[] {
  if (!hasStations(family)) return [];
  return [
    inOrder(sql`client_mac = ${mac}::macaddr`),
    inOrder(sql`ap_mac = ${mac}::macaddr and client_mac is distinct from ${mac}::macaddr`),
  ];
}

const MAX_INT64 = 2n ** 63n - 1n;

function deviceBranches(family: Family, device: string): readonly Branch[] {
  switch (family) {
    case 'location':
    case 'other':
      return [];
    case 'log':
      return [inOrder(sql`device_serial_number = ${device}`)];
    case 'alerts': {
      const byName = sql`alert_source_name = ${device}`;
      const byId = sql`alert_source_id = ${device} and (${byName}) is not true`;
      return [inOrder(byName), inOrder(byId)];
    }
    case 'audit': {
      const byName = sql`host_names @> array[${device}]::text[]`;
      const names: Branch = { condition: byName, isOrdered: false };
      if (!/^\d{1,19}$/.test(device) || BigInt(device) > MAX_INT64) return [names];
      const byId = sql`device_ids @> array[${device}]::bigint[] and (${byName}) is not true`;
      return [names, { condition: byId, isOrdered: false }];
    }
  }
}
