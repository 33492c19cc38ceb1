import { sql, type RawBuilder } from 'kysely';
import type { Db, Trx } from '../server/database.ts';
import { readHorizon } from '../log/horizon.ts';
import { whileAlone } from '../server/locks.ts';
import { firstRow, onlyRow, run } from '../server/statement.ts';

/** After this many days, counts by the minute become counts by the hour. */
const DAYS_BY_MINUTE = 14;

/**
 * Counts the deliveries committed since the last roll-up in `arrivals`: each exactly once, also while others store or
 * roll up. Deliveries of a transaction that is still storing, or that began after such a one, are left for the next
 * roll-up, and so are those beyond `most`; a transaction is not split. Returns how many; undefined, with nothing done, while
 * another roll-up runs.
 */
export async function rollUpArrivals(db: Db, most = 32_768): Promise<number | undefined> {
  return whileAlone(db, sql`arrivals_progress`, (trx) => countCommitted(trx, most));
}

/** All rows below the horizon are visible, and no row can be added there any more. */
async function countCommitted(trx: Trx, most: number): Promise<number> {
  const { xid } = await readHorizon(trx);
  const isNext = sql`${IS_NOT_COUNTED} and xid < ${xid}::xid8`;
  const { end } = await onlyRow<{ end: string }>(trx)`
    select coalesce((select xid::text::numeric + 1 from deliveries where ${isNext}
      order by xid offset ${sql.lit(most - 1)} limit 1)::text, ${xid}) as end`;
  const horizon = sql`${end}::xid8`;
  const counted = addUp(sql`${IS_NOT_COUNTED} and xid < ${horizon}`);
  // A horizon may be lower than an earlier one: what was counted is not counted again.
  const row = await firstRow<{ counted: string }>(trx)`
    ${counted}
    update arrivals_progress set next_xid = greatest(next_xid, ${horizon})
    returning (select coalesce(sum(deliveries), 0) from taken) as counted`;
  return Number(row?.counted ?? 0);
}

/** The deliveries of the present era that no roll-up has counted yet. */
export const IS_NOT_COUNTED = sql`
  xid >= (select next_xid from arrivals_progress) and era = (select era from arrivals_progress)`;

/**
 * Begins an era: the database is on another server, whose transaction ids say nothing about those of before. Nobody may be
 * storing, or have stored on this server yet. Counts what no roll-up had counted.
 */
export async function beginEra(trx: Trx): Promise<void> {
  const present = await trx
    .selectFrom('arrivals_progress')
    .select('era')
    .forUpdate()
    .executeTakeFirstOrThrow();
  const era = present.era + 1;
  await run(trx)`
    ${addUp(IS_NOT_COUNTED)}
    update arrivals_progress set era = ${era}, next_xid = pg_snapshot_xmin(pg_current_snapshot())`;
  await run(trx)`select begin_era(${era})`;
}

/** Deliveries that are sealed together. */
export const DELIVERIES_OF_TILE = 256;

/**
 * The start of a statement that adds these deliveries to both tables, and queues them to be sealed; `taken` contains the
 * counts, by time.
 */
function addUp(condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    with arrived as materialized (
      select delivery_id, received_at, source, message_type, origin, record_count, expected_count, event_count,
             duplicate_count, quarantined_count, body_bytes
      from deliveries where ${condition}
    ), tiles as (
      insert into log_delivery_queue (delivery_ids, received_at)
      select array_agg(delivery_id order by number), array_agg(received_at order by number)
      from (
        select delivery_id, received_at, row_number() over (order by received_at, delivery_id) - 1 as number from arrived
      ) as numbered group by number / ${DELIVERIES_OF_TILE}
    ), taken as materialized (
      select date_bin(make_interval(secs => seconds), received_at, 'epoch') as bucket, seconds, source, message_type,
             ${COUNT_DELIVERIES},
             -- What this service fetched by itself must not end the silence of a sender.
             coalesce(max(received_at) filter (where origin = 'webhook'), 'epoch') as last_received_at
      from arrived, lateral (
        select case when received_at < ${minutesSince(sql`now()`)} then 3600 else 60 end as seconds
      ) as width
      group by 1, 2, 3, 4
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

export const NUMBERS = 'deliveries records expected events duplicates quarantined bytes unbalanced'.split(
  ' ',
);

/** The numbers of deliveries, as aggregates of their rows. */
export const COUNT_DELIVERIES = sql`count(*) as deliveries, sum(record_count) as records,
  sum(expected_count) as expected, sum(event_count) as events, sum(duplicate_count) as duplicates,
  sum(quarantined_count) as quarantined, sum(body_bytes) as bytes,
  count(*) filter (where expected_count <> event_count + duplicate_count + quarantined_count) as unbalanced`;

export const COUNTS = sql.join([...NUMBERS, 'last_received_at'].map((name) => sql.ref(name)));

export const SUMS = sql.join([
  ...NUMBERS.map((name) => sql`sum(${sql.ref(name)})`),
  sql`max(last_received_at)`,
]);

function addToThere(table: string, key: readonly string[]): RawBuilder<unknown> {
  const there = (name: string) => sql.ref(`${table}.${name}`);
  const come = (name: string) => sql.ref(`excluded.${name}`);
  const sums = NUMBERS.map((name) => sql`${sql.ref(name)} = ${there(name)} + ${come(name)}`);
  return sql`on conflict (${sql.join(key.map((name) => sql.ref(name)))}) do update set ${sql.join(sums)},
    last_received_at = greatest(${there('last_received_at')}, ${come('last_received_at')})`;
}

const KEY_BY_TIME = ['bucket', 'seconds', 'source', 'message_type'];
const KEY_IN_TOTAL = ['source', 'message_type'];

/** The first hour that is counted by the minute. */
const minutesSince = (now: RawBuilder<unknown>) =>
  sql`date_bin('1 hour', ${now} - make_interval(days => ${sql.lit(DAYS_BY_MINUTE)}), 'epoch')`;

/** Turns counts by the minute older than 14 days into counts by the hour. Returns how many minutes were replaced. */
export async function compactArrivals(db: Db, now: Date): Promise<number> {
  return db.transaction().execute(async (trx) => {
    // Roll-ups wait meanwhile, so that no minute grows while it is deleted.
    await trx.selectFrom('arrivals_progress').select('era').forUpdate().execute();
    const row = await firstRow<{ minutes: string }>(trx)`
      with gone as (
        delete from arrivals where seconds = 60 and bucket < ${minutesSince(sql`${now}::timestamptz`)} returning *
      ), kept as (
        insert into arrivals (bucket, seconds, source, message_type, ${COUNTS})
        select date_bin('1 hour', bucket, 'epoch'), 3600, source, message_type, ${SUMS}
        from gone group by 1, source, message_type
        ${addToThere('arrivals', KEY_BY_TIME)}
      )
      select count(*) as minutes from gone`;
    return Number(row?.minutes ?? 0);
  });
}
