import { COUNT_DELIVERIES, COUNTS, IS_NOT_COUNTED, SUMS } from './roll-up-arrivals.ts';
import { sql, type RawBuilder } from 'kysely';
import { MESSAGE_TYPES, type MessageType } from '../../events/domain.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { Db, Trx } from '../server/database.ts';
import { inScope, type Scope } from '../server/scope.ts';
import type { ReceivedType } from '../server/schema/delivery-tables.ts';
import { readScripts } from '../server/schema/migrations.ts';
import { allRows, firstRow, run } from '../server/statement.ts';

export interface ArrivalRange {
  /** Inclusive. Buckets that begin before it are left out, so it should be a multiple of the width. */
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
  /** Width of a bucket: a multiple of 60. Buckets begin at multiples of it since the epoch, in UTC. */
  readonly bucketSeconds: number;
}

/** `events` counts the rows written, `bytes` the bodies as they were received. */
export type Arrival = Awaited<ReturnType<typeof readArrivals>>[number];

/** The arrivals in a range, by time and message type, without empty buckets. Those older than 14 days are by the hour. */
export async function readArrivals(db: Db, scope: Scope, range: ArrivalRange) {
  const { since, until, bucketSeconds } = range;
  return db
    .selectFrom('arrivals')
    .select(sql<Date>`date_bin(make_interval(secs => ${bucketSeconds}), bucket, 'epoch')`.as('bucket'))
    .select('message_type as messageType')
    .select((row) =>
      (['deliveries', 'records', 'events', 'duplicates', 'quarantined', 'bytes'] as const).map((name) =>
        row.cast<number>(row.fn.sum(name), 'float8').as(name),
      ),
    )
    .where('bucket', '>=', since)
    .where('bucket', '<', until)
    .where(inScope(scope))
    .groupBy(sql`1, 2`)
    .orderBy(sql`1, 2`)
    .execute();
}

/** The column does not have null: it begins with the epoch, which what no webhook delivered leaves as it is. */
const LAST_RECEIVED_AT = sql`nullif(last_received_at, 'epoch')`;

/** The last delivery of each source, and its events in each of the last hours, the present one last. */
export async function recentArrivals(db: Db, scope: Scope, hours: number) {
  const first = Math.floor(Date.now() / HOUR_MS) - hours + 1;
  const [last, counted] = await Promise.all([
    db
      .selectFrom('arrival_totals')
      .select(['source', sql<Date | null>`max(${LAST_RECEIVED_AT})`.as('at')])
      .where(inScope(scope))
      .groupBy('source')
      .execute(),
    db
      .selectFrom('arrivals')
      .select(['source', sql<Date>`date_bin('1 hour', bucket, 'epoch')`.as('hour')])
      .select((row) => row.cast<number>(row.fn.sum('events'), 'float8').as('events'))
      .where('bucket', '>=', new Date(first * HOUR_MS))
      .where(inScope(scope))
      .groupBy(sql`1, 2`)
      .execute(),
  ]);
  const bySource = Map.groupBy(counted, ({ source }) => source);
  return new Map(
    last.map(({ source, at }) => {
      const events = Array.from({ length: hours }, () => 0);
      for (const one of bySource.get(source) ?? [])
        events[Math.floor(one.hour.getTime() / HOUR_MS) - first] = one.events;
      return [source, { lastReceivedAt: at, events }];
    }),
  );
}

/** All arrivals of one source and message type so far. */
export interface ArrivalSum {
  readonly source: string;
  readonly messageType: ReceivedType;
  readonly deliveries: number;
  /** The number of rows that the deliveries must account for: one for each record, or observation. */
  readonly expected: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
  /** Deliveries whose own counts do not add up. */
  readonly unbalanced: number;
  /** Events whose rows are gone without a reason on record, and such as differ from what was sealed. */
  readonly missing: number;
  readonly altered: number;
  /** Whether everything is accounted for. Of a range, only whether the counts add up. */
  readonly addsUp: boolean;
  /** Null if no webhook delivered any of it. */
  readonly lastReceivedAt: Date | null;
}

const TOTALS = sql`source, message_type as "messageType", deliveries::float8, expected::float8, events::float8,
  duplicates::float8, quarantined::float8, unbalanced::float8`;

/**
 * Everything that ever arrived, by source and message type, up to the last roll-up: the cost does not depend on how
 * much that is. With a range, only what arrived in it, to the minute, or to the hour if older than 14 days:
 * from the counts, which nothing seals, or from the sealed deliveries of the range that are stored.
 */
export async function sumArrivals(
  db: Db,
  scope: Scope,
  range?: WholeRange,
  from: 'counts' | 'deliveries' = 'counts',
): Promise<ArrivalSum[]> {
  if (range === undefined) return sumAll(db, scope);
  const { since, until } = range;
  const within = (column: string) => sql`
    where ${sql.ref(column)} >= ${since} and ${sql.ref(column)} < ${until} and ${inScope(scope)} group by source, message_type`;
  return allRows<ArrivalSum>(db)`
    select ${TOTALS}, 0 as missing, 0 as altered,
      unbalanced = 0 and expected = events + duplicates + quarantined as "addsUp",
      ${LAST_RECEIVED_AT} as "lastReceivedAt"
    from (
      ${
        from === 'counts'
          ? sql`select source, message_type, ${SUMS} from arrivals ${within('bucket')}`
          : sql`select source, message_type, ${COUNT_DELIVERIES}, max(received_at) from deliveries ${within('received_at')}`
      }
    ) as sums (source, message_type, ${COUNTS}) order by source, message_type`;
}

async function sumAll(db: Db, scope: Scope): Promise<ArrivalSum[]> {
  return readingConservation(
    db,
    (trx, conservation) => allRows<ArrivalSum>(trx)`
      select ${TOTALS}, missing_events::float8 as missing, altered_events::float8 as altered, adds_up as "addsUp",
      ${LAST_RECEIVED_AT} as "lastReceivedAt"
      from arrival_totals join ${conservation} using (source, message_type)
      where ${inScope(scope)} order by source, message_type`,
  );
}

const VIEW = /^create or replace view conservation as\s([^;]+);/m;

/**
 * Reads, in one statement, the view `conservation` as this program defines it: anyone who can replace the view in the
 * database decides what it shows.
 */
async function readingConservation<T>(
  db: Db,
  read: (trx: Trx, conservation: RawBuilder<unknown>) => Promise<T>,
): Promise<T> {
  const [view] = (await readScripts()).flatMap((script) => VIEW.exec(script)?.[1] ?? []).toReversed();
  if (view === undefined) throw new TypeError('no migration makes the view conservation');
  return db.transaction().execute(async (trx) => {
    // The planner expects a part of all deliveries to be new, and prepares for them longer than the query takes.
    await run(trx)`select set_config('max_parallel_workers_per_gather', '0', true)`;
    return read(trx, sql`(${sql.raw(view)}) as conservation`);
  });
}

/**
 * Whether all acknowledged deliveries add up, as the view `conservation` does. The cost does not depend on their number.
 */
export async function readConservation(db: Db, scope: Scope) {
  const rows = await readingConservation(
    db,
    (trx, conservation) => allRows<{ pair: string; deliveries: number; addsUp: boolean; open: number }>(trx)`
      select concat_ws(' ', source, message_type,
          case when missing_events > 0 then format('(%s events missing)', missing_events) end,
          case when altered_events > 0 then format('(%s events altered)', altered_events) end) as pair,
        delivery_count::float8 as deliveries, adds_up as "addsUp", open_count::float8 as open
      from ${conservation} where ${inScope(scope)}`,
  );
  return {
    deliveries: rows.reduce((sum, row) => sum + row.deliveries, 0),
    /** `source message_type` of each pair that does not add up, and how many of its events are gone or changed. */
    unbalanced: rows.filter((row) => !row.addsUp).map((row) => row.pair),
    /** Quarantined items that nobody has replayed or discarded. */
    openInQuarantine: rows.reduce((sum, row) => sum + row.open, 0),
  };
}

/** A source and message type with arrivals, or with an enabled subscription in the cloud. */
export interface LastArrival {
  readonly source: string;
  readonly messageType: MessageType;
  /** Undefined when nothing has arrived yet. */
  readonly lastReceivedAt: Date | undefined;
}

/** The last webhook of each source and message type, also if it arrived since the last roll-up. */
export async function readLastArrivals(db: Db, scope: Scope): Promise<LastArrival[]> {
  const rows = await allRows<Omit<LastArrival, 'lastReceivedAt'> & { readonly last: Date | null }>(db)`
    select source, message_type as "messageType", max(last_received_at) as last
    from (
      select source, message_type, ${LAST_RECEIVED_AT} from arrival_totals
      union all
      select source, message_type, received_at from deliveries
      -- The upper bound passes over the ids of other servers; with it, the planner expects few rows.
      where ${IS_NOT_COUNTED} and xid < pg_snapshot_xmax(pg_current_snapshot()) and origin = 'webhook'
      union all
      select source, message_type, null from subscriptions where status = 'ENABLED'
    ) as seen (source, message_type, last_received_at)
    where ${inScope(scope)} and message_type = any(${MESSAGE_TYPES}::text[])
    group by source, message_type order by source, message_type`;
  return rows.map(({ last, ...arrival }) => ({ ...arrival, lastReceivedAt: last ?? undefined }));
}

/** An hour with arrivals of one source and message type. Times are epoch milliseconds. */
export interface ArrivalHour {
  readonly source: string;
  readonly messageType: MessageType;
  readonly start: number;
  readonly deliveries: number;
  /** The longest gap between arrivals that began in this hour and has ended, to the minute. */
  readonly longestGap: { readonly from: number; readonly to: number } | undefined;
}

/** The hours from `since` on, in order, of each source and message type, up to the last roll-up. */
export async function readArrivalHours(db: Db, scope: Scope, since: Date): Promise<ArrivalHour[]> {
  // A count by the minute is dated to the middle of it. From counts by the hour, a gap is at least as long as computed.
  const rows = await allRows<
    Omit<ArrivalHour, 'longestGap'> & { readonly longestGap: ArrivalHour['longestGap'] | null }
  >(db)`
    with counted as (
      select source, message_type, deliveries, date_bin('1 hour', bucket, 'epoch') as start,
             extract(epoch from bucket)::float8 + seconds - 30 as gap_from,
             extract(epoch from lead(bucket) over in_order)::float8 + 30 as gap_to
      from arrivals where bucket >= ${since} and ${inScope(scope)}
      window in_order as (partition by source, message_type order by bucket, seconds desc)
    ), hours as (
      select source, message_type, start, sum(deliveries)::float8 as deliveries from counted group by 1, 2, 3
    ), longest as (
      select distinct on (source, message_type, start) source, message_type, start, gap_from, gap_to
      from counted where gap_to > gap_from
      order by source, message_type, start, gap_to - gap_from desc
    )
    select source, message_type as "messageType", extract(epoch from start)::float8 * 1000 as start, deliveries,
      case when gap_to is not null then json_build_object('from', gap_from * 1000, 'to', gap_to * 1000) end
        as "longestGap"
    from hours left join longest using (source, message_type, start)
    where message_type = any(${MESSAGE_TYPES}::text[]) order by source, message_type, start`;
  return rows.map(({ longestGap, ...hour }) => ({ ...hour, longestGap: longestGap ?? undefined }));
}

/** Whether deliveries are stored long after their arrival: then a silence says nothing about the sender. */
export async function isCatchingUp(db: Db): Promise<boolean> {
  const row = await firstRow<{ is_behind: boolean }>(db)`
    select stored_at > now() - interval '2 minutes' and received_at < stored_at - interval '2 minutes' as is_behind
    from deliveries where xid < pg_snapshot_xmax(pg_current_snapshot()) and era = (select era from arrivals_progress)
    order by xid desc limit 1`;
  return row?.is_behind ?? false;
}
