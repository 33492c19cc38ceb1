import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Older programs only leave it to others to verify. */
export const olderProgramsMayRun = true;

/**
 * What the service finds out by itself about stored rows: it verifies all leaves, some at a time, again and again. The view
 * `conservation` says what it found.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table log_verifications (
      chunk bigint primary key,
      verified_at timestamptz not null,
      leaves integer not null,
      altered integer not null,
      missing integer not null
    )`.execute(db);
  await sql`create index log_verifications_verified_at on log_verifications (verified_at)`.execute(db);
  await sql`
    create table log_verified_events (
      chunk bigint not null,
      source text not null,
      message_type text not null,
      events integer not null,
      intact integer not null,
      expired integer not null,
      erased integer not null,
      altered integer not null,
      missing integer not null,
      primary key (chunk, source, message_type)
    )`.execute(db);
  await sql`grant select on log_verifications, log_verified_events to xiq_reader`.execute(db);
  await sayWhatWasFound(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

const COMMENTS = {
  'table log_verifications':
    'When each 8,192 leaves of the tree were last compared with their rows, and what was found',
  'column log_verifications.leaves': 'How many leaves there were',
  'column log_verifications.altered': 'Rows that differ from their leaves, of any kind',
  'column log_verifications.missing': 'Rows that are gone without a reason on record, of any kind',
  'table log_verified_events': 'The same of events alone, by source and message type',
  'column log_verified_events.events': 'Events that the log has',
  'column conservation.verified_events':
    'Events whose rows were found and were as sealed when they were last compared',
  'column conservation.expired_events': 'Events whose month retention has dropped',
  'column conservation.erased_events': 'Events that were erased lawfully',
  'column conservation.altered_events': 'Events whose rows differ from what was sealed: run verify',
  'column conservation.missing_events': 'Events whose rows are gone without a reason on record: run verify',
  'column conservation.verified_since': 'All of these were compared after this time',
} as const;

/** The view as before, with the rows of events: it adds up only if none of them is gone or changed. */
async function sayWhatWasFound(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select rtrim(pg_get_viewdef('conservation'::regclass), '; ') as definition`.execute(db);
  await sql`
    create or replace view conservation as
      select source, message_type, delivery_count, record_count, expected_count, event_count, duplicate_count,
        quarantined_count, unbalanced_deliveries, unaccounted_count,
        adds_up and coalesce(altered_events + missing_events, 0) = 0 as adds_up,
        open_count, replayed_count, discarded_count, quarantine_gaps, missing_deliveries, differing_partitions,
        coalesce(verified_events, 0) as verified_events, coalesce(expired_events, 0) as expired_events,
        coalesce(erased_events, 0) as erased_events, coalesce(altered_events, 0) as altered_events,
        coalesce(missing_events, 0) as missing_events, verified_since
      from (${sql.raw(rows[0]?.definition ?? '')}) as of_deliveries
      left join (
        select source, message_type, sum(intact)::bigint as verified_events, sum(expired)::bigint as expired_events,
          sum(erased)::bigint as erased_events, sum(found.altered)::bigint as altered_events,
          sum(found.missing)::bigint as missing_events, min(verified_at) as verified_since
        from log_verified_events as found join log_verifications using (chunk)
        group by source, message_type
      ) as verified using (source, message_type)
      order by source, message_type`.execute(db);
}
