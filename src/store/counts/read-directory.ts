import { sql, type RawBuilder } from 'kysely';
import { allOf, anyOf, literalPattern, unionAll } from '../server/condition.ts';
import type { Db } from '../server/database.ts';
import { SEEN_DAYS } from './roll-up-seen.ts';
import { ALL_SOURCES, inScope, type Scope } from '../server/scope.ts';
import { allRows } from '../server/statement.ts';
import type { SeenKind } from '../server/schema/count-tables.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { fold } from '../../lib/text/fold.ts';

/** A person or device, with what the last 30 days (UTC, today included) have of it. */
export interface DirectoryEntry {
  readonly kind: SeenKind;
  /** Name as it is compared, or MAC address. */
  readonly key: string;
  /** The latest spelling of a name, or the latest host name of an access point. */
  readonly name: string | null;
  /** What the directory is sorted by. */
  readonly label: string;
  readonly lastSeen: Date;
  /** Events of each day, the oldest first. */
  readonly days: readonly number[];
  readonly events: number;
  readonly logins: number;
  readonly changes: number;
  /** Private keys created or deleted. */
  readonly keys: number;
}

/** The order of a directory: last seen first, longest silent first, or by name. */
export const DIRECTORY_ORDERS = ['seen', 'silent', 'name'] as const;

type DirectoryOrder = (typeof DIRECTORY_ORDERS)[number];

type DirectoryPlace = Pick<DirectoryEntry, 'kind' | 'key' | 'label' | 'lastSeen'>;

export interface DirectoryQuery {
  readonly kinds: readonly SeenKind[];
  /** Beginnings of a name or host name in any case, or of a MAC address in its usual notation: one of them matches. */
  readonly prefixes?: readonly string[] | undefined;
  /** Only those that were last seen in the counted days, but not since this time. */
  readonly silentSince?: Date | undefined;
  readonly order: DirectoryOrder;
  readonly limit: number;
  readonly after?: DirectoryPlace | undefined;
}

/** The first day that the counts of a directory include, as the start of a range of events. */
export const directorySince = (now: Date): Date =>
  new Date(Math.floor(now.getTime() / DAY_MS - (SEEN_DAYS - 1)) * DAY_MS);

/**
 * Lists people or devices. One of several sources in the scope is one entry. Each kind and source has an index in both
 * orders, so that a page costs the same however many there are.
 */
export async function listDirectory(db: Db, scope: Scope, query: DirectoryQuery) {
  const { kinds, order, limit } = query;
  if (kinds.length === 0) return [];
  const sources =
    scope === ALL_SOURCES
      ? sql`(select distinct source from log_kinds)`
      : sql`(select unnest(${scope}::text[]) as source)`;
  const parts = kinds.map(
    (kind) => sql`
      select page.* from ${sources} as one cross join lateral (
        select kind, key, name, label, last_seen from seen
        where ${allOf([sql`kind = ${sql.lit(kind)} and source = one.source`, ...matches(kind, query), isLatest(scope)])}
        ${orderBy(order)} limit ${limit}
      ) as page`,
  );
  return allRows<DirectoryEntry>(db)`
    select kind, key, name, label, last_seen as "lastSeen", days, events, logins, changes, keys
    from (
      select * from (${unionAll(parts)}) as all_kinds ${orderBy(order)} limit ${limit}
    ) as page cross join lateral (
      select coalesce(sum(seen_days.events), 0)::float8 as events, coalesce(sum(logins), 0)::float8 as logins,
        coalesce(sum(changes), 0)::float8 as changes, coalesce(sum(keys), 0)::float8 as keys,
        array_agg(coalesce(on_day, 0)::float8 order by number) as days
      from generate_series(0, ${sql.lit(SEEN_DAYS - 1)}) as number left join (
        select day - first_day as number, sum(seen_days.events) as on_day, sum(seen_days.events) as events,
          sum(logins) as logins, sum(changes) as changes, sum(keys) as keys
        from seen_days, (select (now() at time zone 'UTC')::date - ${sql.lit(SEEN_DAYS - 1)} as first_day) as range
        where seen_days.kind = page.kind and seen_days.key = page.key and day >= first_day and ${inScope(scope)}
        group by 1
      ) as seen_days using (number)
    ) as counted ${orderBy(order)}`;
}

const ORDERS: Readonly<Record<DirectoryOrder, RawBuilder<unknown>>> = {
  seen: sql`last_seen desc, key desc, kind desc`,
  silent: sql`last_seen, key, kind`,
  name: sql`label, key, kind`,
};

const orderBy = (order: DirectoryOrder) => sql`order by ${ORDERS[order]}`;

/** The access points that events of the counted days named, but none since this time. */
export async function countSilent(db: Db, scope: Scope, since: Date): Promise<number> {
  const { count } = await db
    .selectFrom('seen')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('kind', '=', 'access point')
    .where('last_seen', '<', since)
    .where('last_seen', '>=', directorySince(new Date()))
    .where(inScope(scope))
    .where(isLatest(scope))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Of the rows of several sources, the one that was seen last stands for all. */
const isLatest = (scope: Scope) => sql<boolean>`not exists (
  select from seen as other
  where other.kind = seen.kind and other.key = seen.key and ${inScope(scope, 'other.source')}
    and (other.last_seen, other.source) > (seen.last_seen, seen.source))`;

function matches(
  kind: SeenKind,
  { prefixes = [], silentSince, order, after }: DirectoryQuery,
): readonly RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  if (silentSince !== undefined)
    conditions.push(sql`last_seen < ${silentSince} and last_seen >= ${directorySince(new Date())}`);
  if (prefixes.length > 0) {
    // A label is the key, except that of an access point with a host name.
    const columns = kind === 'access point' ? ['label', 'key'] : ['label'];
    const begins = prefixes.flatMap((prefix) => {
      const pattern = `${literalPattern(fold(prefix))}%`;
      return columns.map((column) => sql`${sql.ref(column)} like ${pattern}::text`);
    });
    conditions.push(anyOf(begins));
  }
  if (after !== undefined) {
    const { lastSeen, label, key } = after;
    const bySeen = sql`(${lastSeen}::timestamptz, ${key}, ${after.kind})`;
    const behind: Readonly<Record<DirectoryOrder, RawBuilder<unknown>>> = {
      seen: sql`last_seen <= ${lastSeen} and (last_seen, key, kind) < ${bySeen}`,
      silent: sql`last_seen >= ${lastSeen} and (last_seen, key, kind) > ${bySeen}`,
      name: sql`label >= ${label} and (label, key, kind) > (${label}, ${key}, ${after.kind})`,
    };
    conditions.push(behind[order]);
  }
  return conditions;
}

/** One person or device of the directory, by its key; undefined if no event of the scope names it. */
export async function readDirectoryEntry(db: Db, scope: Scope, kind: SeenKind, key: string) {
  return db
    .selectFrom('seen')
    .select(['name', 'last_seen as lastSeen'])
    .where('kind', '=', kind)
    .where('key', '=', sql<string>`fold_name(${key})`)
    .where(inScope(scope))
    .orderBy('last_seen', 'desc')
    .limit(1)
    .executeTakeFirst();
}
