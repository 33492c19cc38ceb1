import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** On the same server nothing changes. Only a program with this migration continues the counts on another one. */
export const olderProgramsMayRun = true;

/**
 * The eras of the deliveries: one for each server that the database was on, when a dump was restored there. Transaction ids
 * only say something about the rows of the present era.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deliveries add column era integer not null default 0`.execute(db);
  await sql`alter table arrivals_progress add column era integer not null default 0`.execute(db);
  await sql`alter table delivery_recounts add column counted_era integer not null default 0`.execute(db);
  await countPresentEra(db);
  const comments = {
    'column deliveries.era':
      'Counts the servers that the database was on: xid is an id of the server of this era',
    'column arrivals_progress.era': 'The present era: next_xid is an id of its server',
    'column delivery_recounts.counted_era': 'The era of counted_to',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

/** The view as before, but for what is not rolled up yet: only rows of the present era have ids to compare. */
async function countPresentEra(db: Kysely<unknown>): Promise<void> {
  const fresh = sql`
    select source, message_type, count(*) as deliveries, sum(record_count) as records, sum(expected_count) as expected,
           sum(event_count) as events, sum(duplicate_count) as duplicates, sum(quarantined_count) as quarantined,
           count(*) filter (
             where expected_count <> event_count + duplicate_count + quarantined_count
           ) as unbalanced
    from deliveries`;
  await sql`
    create or replace view conservation as
      select sums.*, expected_count - event_count - duplicate_count - quarantined_count as unaccounted_count,
             expected_count = event_count + duplicate_count + quarantined_count and unbalanced_deliveries = 0
               and gaps.quarantine_gaps is null and not coalesce(recounted.differs, false) as adds_up,
             coalesce(kept.open_count, 0) as open_count, coalesce(kept.replayed_count, 0) as replayed_count,
             coalesce(kept.discarded_count, 0) as discarded_count,
             coalesce(gaps.quarantine_gaps, 0) as quarantine_gaps,
             coalesce(recounted.missing, 0)::bigint as missing_deliveries,
             coalesce(recounted.differing, 0) as differing_partitions
      from (
        select source, message_type, sum(deliveries)::bigint as delivery_count, sum(records)::bigint as record_count,
               sum(expected)::bigint as expected_count, sum(events)::bigint as event_count,
               sum(duplicates)::bigint as duplicate_count, sum(quarantined)::bigint as quarantined_count,
               sum(unbalanced)::bigint as unbalanced_deliveries
        from (
          select source, message_type, deliveries, records, expected, events, duplicates, quarantined, unbalanced
          from arrival_totals
          union all
          -- The upper bound passes over the ids of other servers; with it, the planner expects few rows.
          ${fresh} where xid >= (select next_xid from arrivals_progress)
            and era = (select era from arrivals_progress) and xid < pg_snapshot_xmax(pg_current_snapshot())
          group by 1, 2
          union all
          -- Rows of before transactions were stored with them, while they are being counted.
          ${fresh} where (select old_before from arrivals_progress) is not null
            and xid is null and received_at < (select old_before from arrivals_progress)
          group by 1, 2
        ) as counted group by source, message_type
      ) as sums
      left join (
        select source, message_type, count(*) filter (where resolution is null) as open_count,
               count(*) filter (where resolution = 'replayed') as replayed_count,
               count(*) filter (where resolution = 'discarded') as discarded_count
        from quarantine group by source, message_type
      ) as kept using (source, message_type)
      left join (
        select source, message_type, count(*) as quarantine_gaps
        from (
          select delivery_id, source, message_type, quarantined_count, received_at
          from deliveries where quarantined_count > 0
        ) as said
        full join (
          select delivery_id, source, message_type, count(*) as quarantined_count, min(received_at) as received_at
          from quarantine group by delivery_id, source, message_type
        ) as found using (delivery_id, source, message_type)
        where said.quarantined_count is distinct from found.quarantined_count
          -- The deliveries of the others are gone: retention has dropped their months.
          and coalesce(said.received_at, found.received_at) >= (
            select coalesce(max(until), '-infinity') from delivery_recounts where dropped_at is not null)
        group by source, message_type
      ) as gaps using (source, message_type)
      left join (
        select source, message_type, sum(missing) as missing, bool_or(differs) as differs,
               count(*) filter (where differs) as differing
        from delivery_sums group by source, message_type
      ) as recounted using (source, message_type)
      order by source, message_type`.execute(db);
}
