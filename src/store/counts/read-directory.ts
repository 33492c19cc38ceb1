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

/** By how much more of each source is read if its first rows were about entries that are listed elsewhere. */
const GROWTH = 4;

/**
 * Lists people or devices. One of several sources in the scope is one entry, with its latest row. Each kind and source has an
 * index in both orders, so that a page costs the same however many there are.
 */
export async function listDirectory(db: Db, scope: Scope, query: DirectoryQuery): Promise<DirectoryEntry[]> {
  for (let ahead = query.limit; ; ahead *= GROWTH) {
    const rows = await listAhead(db, scope, query, ahead);
    const entries = rows.flatMap(({ isCut: _isCut, ...entry }) => (entry.key === null ? [] : [entry]));
    if (entries.length === query.limit || rows[0]?.isCut !== true) return entries;
  }
}

/** The row of a page; of an empty one, a row without an entry. */
type PageRow = (DirectoryEntry | { readonly key: null }) & { readonly isCut: boolean };

/**
 * A page as far as the next rows of each source tell, `ahead` of them. `isCut`: of a source with more, what comes behind its
 * last row is not known, and may belong before entries of others.
 */
async function listAhead(db: Db, scope: Scope, query: DirectoryQuery, ahead: number) {
  const { kinds, order, limit } = query;
  if (kinds.length === 0) return [];
  const sources =
    scope === ALL_SOURCES
      ? sql`(select distinct source from log_kinds)`
      : sql`(select unnest(${scope}::text[]) as source)`;
  const parts = kinds.map(
    (kind) => sql`
      select next.* from ${sources} as one cross join lateral (
        select kind, key, label, last_seen, row_number() over (${orderBy(order)}) as number from seen
        where ${allOf([sql`kind = ${sql.lit(kind)} and source = one.source`, ...matches(kind, query)])}
        ${orderBy(order)} limit ${ahead}
      ) as next`,
  );
  return allRows<PageRow>(db)`
    with ahead as (${unionAll(parts)}),
      horizon as (select * from ahead where number = ${ahead} ${orderBy(order)} limit 1)
    select "isCut", kind, key, name, label, last_seen as "lastSeen", days, events, logins, changes, keys
    from (select exists (select from horizon) as "isCut") as cut left join ((
      select * from (
        select latest.* from (select distinct kind, key from ahead) as found cross join lateral (
          select kind, key, name, label, last_seen from seen
          where seen.kind = found.kind and seen.key = found.key and ${inScope(scope)}
          order by last_seen desc, source desc limit 1
        ) as latest
      ) as entry
      where ${allOf([...matches('access point', query), sql`not exists (select from horizon where ${IS_BEHIND[order]})`])}
      ${orderBy(order)} limit ${limit}
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
    ) as counted) on true ${orderBy(order)}`;
}

const ORDERS: Readonly<Record<DirectoryOrder, RawBuilder<unknown>>> = {
  seen: sql`last_seen desc, key desc, kind desc`,
  silent: sql`last_seen, key, kind`,
  name: sql`label, key, kind`,
};

const orderBy = (order: DirectoryOrder) => sql`order by ${ORDERS[order]}`;

/** Whether an entry comes behind the horizon, where those of other sources may be missing. */
const IS_BEHIND: Readonly<Record<DirectoryOrder, RawBuilder<unknown>>> = {
  seen: sql`(entry.last_seen, entry.key, entry.kind) < (horizon.last_seen, horizon.key, horizon.kind)`,
  silent: sql`(entry.last_seen, entry.key, entry.kind) > (horizon.last_seen, horizon.key, horizon.kind)`,
  name: sql`(entry.label, entry.key, entry.kind) > (horizon.label, horizon.key, horizon.kind)`,
};

/** The access points that events of the counted days named, but none since this time. */
export async function countSilent(db: Db, scope: Scope, since: Date): Promise<number> {
  const silent = db
    .selectFrom('seen')
    .select('key')
    .where('kind', '=', 'access point')
    .where('last_seen', '>=', directorySince(new Date()))
    .where(inScope(scope))
    .groupBy('key')
    .having(({ fn }) => fn.max('last_seen'), '<', since);
  const { count } = await db
    .selectFrom(silent.as('silent'))
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Of entries of several kinds, those of access points: a host name is a label that is not the key. */
function matches(
  kind: SeenKind,
  { prefixes = [], silentSince, order, after }: DirectoryQuery,
): readonly RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  if (silentSince !== undefined)
    conditions.push(sql`last_seen < ${silentSince} and last_seen >= ${directorySince(new Date())}`);
  if (prefixes.length > 0) {
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
