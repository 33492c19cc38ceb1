import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import type { MessageType, UNKNOWN_MESSAGE_TYPE } from '../domain.ts';
import type { Db, Trx } from './database.ts';

/** Minutes become hours after so many days. */
const DAYS_BY_MINUTE = 14;

/** A stretch of old deliveries is made longer below so many, and shorter above, within so many seconds. */
const FEW_DELIVERIES = 20_000;
const MANY_DELIVERIES = 200_000;
const SHORTEST_STRETCH = 60;
const LONGEST_STRETCH = 30 * 24 * 60 * 60;

/** What one roll-up did. */
export interface RollUp {
  /** Deliveries that it counted. */
  readonly counted: number;
  /** Deliveries of before the migration remain: call again. */
  readonly isBehind: boolean;
}

/**
 * Counts in `arrivals` the deliveries that were committed since the last time: each once, whatever is stored
 * meanwhile and whoever else calls this. What a transaction that is still open has stored, or one that began after
 * it, is left for the next time. Undefined, with nothing done, while another one is at it.
 */
export async function rollUpArrivals(db: Db): Promise<RollUp | undefined> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ is_behind: boolean }>`
      select old_before is not null as is_behind from arrivals_progress for update skip locked`.execute(trx);
    const [progress] = rows;
    if (progress === undefined) return undefined;
    const counted = await countCommitted(trx);
    if (!progress.is_behind) return { counted, isBehind: false };
    const old = await countOld(trx);
    return { counted: counted + old.counted, isBehind: old.isBehind };
  });
}

/** Everything below the oldest open transaction is there to be seen, and nothing can come there any more. */
async function countCommitted(trx: Trx): Promise<number> {
  const counted = addUp(sql`
    xid >= (select next_xid from arrivals_progress) and xid < pg_snapshot_xmin(pg_current_snapshot())`);
  // One statement sees one snapshot: what is counted and where the next time begins fit together.
  const { rows } = await sql<{ counted: string }>`
    ${counted}
    update arrivals_progress set next_xid = pg_snapshot_xmin(pg_current_snapshot())
    returning (select coalesce(sum(deliveries), 0) from taken) as counted`.execute(trx);
  return Number(rows[0]?.counted ?? 0);
}

/** Takes the latest of the old deliveries that are not counted: a stretch of so many seconds of arrival. */
async function countOld(trx: Trx): Promise<RollUp> {
  const from = sql`(
    select least(old_before, date_trunc('hour', now())) - make_interval(secs => old_seconds) from arrivals_progress)`;
  const counted = addUp(sql`
    xid is null and received_at >= ${from} and received_at < (select old_before from arrivals_progress)`);
  const { rows } = await sql<{ counted: string; is_behind: boolean }>`
    ${counted}
    update arrivals_progress set
      old_before = case
        when exists (select from deliveries where xid is null and received_at < ${from}) then ${from} end,
      old_seconds = case
        when (select coalesce(sum(deliveries), 0) from taken) < ${FEW_DELIVERIES}
          then least(old_seconds * 2, ${LONGEST_STRETCH})
        when (select sum(deliveries) from taken) > ${MANY_DELIVERIES}
          then greatest(old_seconds / 2, ${SHORTEST_STRETCH})
        else old_seconds end
    returning (select coalesce(sum(deliveries), 0) from taken) as counted, old_before is not null as is_behind
  `.execute(trx);
  return { counted: Number(rows[0]?.counted ?? 0), isBehind: rows[0]?.is_behind ?? false };
}

/** The beginning of a statement that adds these deliveries to both tables; `taken` is what it added, by time. */
function addUp(condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    with taken as materialized (
      select date_bin(make_interval(secs => seconds), received_at, 'epoch') as bucket, seconds, source, message_type,
             count(*) as deliveries, sum(record_count) as records, sum(expected_count) as expected,
             sum(event_count) as events, sum(duplicate_count) as duplicates, sum(quarantined_count) as quarantined,
             sum(body_bytes) as bytes,
             count(*) filter (
               where expected_count <> event_count + duplicate_count + quarantined_count
             ) as unbalanced,
             max(received_at) as last_received_at
      from deliveries, lateral (
        select case when received_at < ${minutesSince(sql`now()`)} then 3600 else 60 end as seconds
      ) as width
      where ${condition} group by 1, 2, 3, 4
    ), by_time as (
      insert into arrivals (bucket, seconds, source, message_type, ${COUNTS})
      select bucket, seconds, source, message_type, ${COUNTS} from taken
      ${addToThere('arrivals', KEY_BY_TIME)}
    ), in_total as (
      insert into arrival_totals (source, message_type, ${COUNTS})
      select source, message_type, ${SUMS} from taken group by source, message_type
      ${addToThere('arrival_totals', KEY_IN_TOTAL)}
    )`;
}

const NUMBERS = [
  'deliveries',
  'records',
  'expected',
  'events',
  'duplicates',
  'quarantined',
  'bytes',
  'unbalanced',
] as const;

const COUNTS = sql.join([...NUMBERS, 'last_received_at'].map((name) => sql.ref(name)));

const SUMS = sql.join([...NUMBERS.map((name) => sql`sum(${sql.ref(name)})`), sql`max(last_received_at)`]);

/** What of a row of counts is there already grows by the new ones. */
function addToThere(table: string, key: readonly string[]): RawBuilder<unknown> {
  const there = (name: string) => sql.ref(`${table}.${name}`);
  const come = (name: string) => sql.ref(`excluded.${name}`);
  const sums = NUMBERS.map((name) => sql`${sql.ref(name)} = ${there(name)} + ${come(name)}`);
  return sql`on conflict (${sql.join(key.map((name) => sql.ref(name)))}) do update set ${sql.join(sums)},
    last_received_at = greatest(${there('last_received_at')}, ${come('last_received_at')})`;
}

const KEY_BY_TIME = ['bucket', 'seconds', 'source', 'message_type'];
const KEY_IN_TOTAL = ['source', 'message_type'];

/** The first hour that is kept by minute. */
const minutesSince = (now: RawBuilder<unknown>) =>
  sql`date_bin('1 hour', ${now} - make_interval(days => ${sql.lit(DAYS_BY_MINUTE)}), 'epoch')`;

/** Turns the minutes that are older than 14 days into hours. Returns how many minutes went. */
export async function compactArrivals(db: Db, now: Date): Promise<number> {
  return db.transaction().execute(async (trx) => {
    // Who counts waits, so that no minute grows while it goes.
    await sql`select from arrivals_progress for update`.execute(trx);
    const { rows } = await sql<{ minutes: string }>`
      with gone as (
        delete from arrivals where seconds = 60 and bucket < ${minutesSince(sql`${now}::timestamptz`)} returning *
      ), kept as (
        insert into arrivals (bucket, seconds, source, message_type, ${COUNTS})
        select date_bin('1 hour', bucket, 'epoch'), 3600, source, message_type, ${SUMS}
        from gone group by 1, source, message_type
        ${addToThere('arrivals', KEY_BY_TIME)}
      )
      select count(*) as minutes from gone`.execute(trx);
    return Number(rows[0]?.minutes ?? 0);
  });
}

/** Which time of arrival, and how finely. */
export interface ArrivalRange {
  /** Inclusive; buckets that begin before it are left out, so let it be a multiple of the width. */
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
  /** Width of a bucket: a multiple of 60; buckets begin at multiples of it since the epoch, in UTC. */
  readonly bucketSeconds: number;
  /** All sources together when it is left out. */
  readonly source?: string | undefined;
}

/** What arrived of one message type in one stretch of time. */
export interface Arrival {
  /** Start of the stretch. */
  readonly bucket: Date;
  readonly messageType: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
  readonly deliveries: number;
  readonly records: number;
  /** Rows written. */
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
  /** Of the bodies as they were received. */
  readonly bytes: number;
}

/**
 * What arrived, by time and message type; stretches in which nothing did are not there. What is older than 14 days is
 * known by the hour: a finer width finds all of an hour in its first bucket.
 */
export async function readArrivals(
  db: Db,
  { since, until, bucketSeconds, source }: ArrivalRange,
): Promise<Arrival[]> {
  const ofSource = source === undefined ? sql`true` : sql`source = ${source}`;
  const { rows } = await sql<Arrival>`
    select date_bin(make_interval(secs => ${bucketSeconds}), bucket, 'epoch') as bucket,
           message_type as "messageType", sum(deliveries)::float8 as deliveries, sum(records)::float8 as records,
           sum(events)::float8 as events, sum(duplicates)::float8 as duplicates,
           sum(quarantined)::float8 as quarantined, sum(bytes)::float8 as bytes
    from arrivals where bucket >= ${since} and bucket < ${until} and ${ofSource}
    group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

/** Everything that ever arrived from one source of one message type. */
export interface ArrivalSum {
  readonly source: string;
  readonly messageType: MessageType | typeof UNKNOWN_MESSAGE_TYPE;
  readonly deliveries: number;
  /** What the deliveries must account for: one for each record, or observation. */
  readonly expected: number;
  readonly events: number;
  readonly duplicates: number;
  readonly quarantined: number;
  /** Deliveries whose own counts do not add up. */
  readonly unbalanced: number;
  /** Whether every delivery's counts add up. The view `conservation` compares with what lies in quarantine as well. */
  readonly addsUp: boolean;
  readonly lastReceivedAt: Date;
}

/**
 * Everything that ever arrived, by source and message type, up to the last roll-up: the cost does not depend on how
 * much that is. With a range, only what arrived in it, to the minute, or to the hour if older than 14 days.
 */
export async function sumArrivals(
  db: Db,
  range?: { readonly since: Date; readonly until: Date },
): Promise<ArrivalSum[]> {
  const sums =
    range === undefined
      ? sql`select source, message_type, ${COUNTS} from arrival_totals`
      : sql`select source, message_type, ${SUMS} from arrivals
            where bucket >= ${range.since} and bucket < ${range.until} group by source, message_type`;
  const { rows } = await sql<ArrivalSum>`
    select source, message_type as "messageType", deliveries::float8, expected::float8, events::float8,
           duplicates::float8, quarantined::float8, unbalanced::float8,
           unbalanced = 0 and expected = events + duplicates + quarantined as "addsUp",
           last_received_at as "lastReceivedAt"
    from (${sums}) as sums (source, message_type, ${COUNTS}) order by source, message_type`.execute(db);
  return rows;
}
