import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration neither compare with the cloud's history nor record gaps. */
export const olderProgramsMayRun = true;

/**
 * The comparison of the stored events with the cloud's history, by quarter of an hour, and every reason to doubt that all
 * events arrived.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createTables(db);
  await createFunction(db);
  await createView(db);
  const comments = {
    'table coverage':
      'The quarters of an hour that were compared with the history of the cloud; coverage_between() has all quarters',
    'column coverage.quarter': 'Start of the quarter of an hour, by the time in the log records',
    'column coverage.healed': 'Events that were missing and were fetched from the history',
    'column coverage.matched': 'Events that both sides had at the last comparison',
    'column coverage.only_webhook': 'Stored events without a log record at the last comparison',
    'column coverage.agreed_at': 'Since when no comparison has found a difference; null: the last one did',
    'table gaps': 'Reasons to doubt that all events arrived',
    'column gaps.source': 'Null: all sources',
    'column gaps.message_type': 'Null: all message types',
    'column gaps.ended_at': 'Null: the reason persists',
    'table heartbeat': 'When a process that accepts deliveries last reported; one row',
    'function coverage_between':
      'The state of each quarter of an hour in a time range, since the first arrival of its source and message type',
    'view coverage_by_day': 'The number of quarters in each state, by day in UTC',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`grant select on coverage, gaps, heartbeat, coverage_by_day to xiq_reader`.execute(db);
}

async function createTables(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table coverage (
      source text not null,
      message_type text not null,
      quarter timestamptz not null check (quarter = date_bin('15 minutes', quarter, 'epoch')),
      state text not null check (state in ('whole', 'healed', 'push only', 'unrecoverable', 'pending')),
      healed integer not null,
      matched integer not null,
      only_webhook integer not null,
      compared_at timestamptz not null,
      agreed_at timestamptz,
      primary key (source, message_type, quarter)
    )`.execute(db);
  await sql`
    create table gaps (
      id bigint generated always as identity primary key,
      source text,
      message_type text,
      began_at timestamptz not null,
      ended_at timestamptz check (ended_at >= began_at),
      reason text not null check (reason in (
        'downtime', 'refused', 'subscription off', 'subscription changed', 'silence', 'retention')),
      detail jsonb not null default '{}',
      recorded_at timestamptz not null default now()
    )`.execute(db);
  await sql`
    create unique index gaps_open on gaps (source, message_type, reason) where ended_at is null`.execute(db);
  await sql`
    create table heartbeat (
      only_row boolean primary key default true check (only_row),
      receiving_at timestamptz not null
    )`.execute(db);
}

/**
 * A quarter that no comparison has proven is pending as long as the history of its type reaches back to it, if the cloud
 * documents how far that is. The pairs that were compared are found by jumps in the index: the table has a row for each
 * quarter.
 */
async function createFunction(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function coverage_between(from_time timestamptz, to_time timestamptz)
    returns table (source text, message_type text, quarter timestamptz, state text, healed integer)
    language sql stable as $$
      with recursive compared as (
        (select c.source, c.message_type from coverage c order by 1, 2 limit 1)
        union all
        select next.* from compared p, lateral (
          select c.source, c.message_type from coverage c
          where (c.source, c.message_type) > (p.source, p.message_type) order by 1, 2 limit 1) next
      ), seen as (
        select p.source, p.message_type, (
          select min(c.quarter) from coverage c
          where c.source = p.source and c.message_type = p.message_type) as since
        from compared p
        union all
        select t.source, t.message_type, (
          select a.bucket from arrivals a
          where a.source = t.source and a.message_type = t.message_type order by a.bucket limit 1)
        from arrival_totals t where t.message_type <> 'UNKNOWN'
        union all
        select s.source, s.message_type, s.created_at from subscriptions s
      ), pairs as (
        select s.source, s.message_type, min(s.since) as since from seen s group by 1, 2
      )
      select p.source, p.message_type, q.start,
        case
          when c.state in ('whole', 'healed') then c.state
          when p.message_type <> all ('{${sql.raw(WITH_HISTORY.join())}}') then 'push only'
          when q.start < now() - case p.message_type
            when 'AUDIT_LOG_ALL' then interval '30 days'
            when 'AUTHENTICATION_LOG_ALL' then interval '7 days' end then 'unrecoverable'
          else 'pending' end,
        coalesce(c.healed, 0)
      from pairs p
      cross join generate_series(
        date_bin('15 minutes', greatest(p.since, from_time), 'epoch'),
        least(to_time, now()) - interval '1 microsecond', interval '15 minutes') as q (start)
      left join coverage c
        on c.source = p.source and c.message_type = p.message_type and c.quarter = q.start
    $$`.execute(db);
}

const WITH_HISTORY = [
  'AUDIT_LOG_ALL',
  'AUTHENTICATION_LOG_ALL',
  'ACCOUNTING_LOG_ALL',
  'CREDENTIAL_LOG_ALL',
  'EMAIL_LOG_ALL',
  'SMS_LOG_ALL',
  'ALERT',
];

async function createView(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view coverage_by_day as
      select source, message_type, (quarter at time zone 'UTC')::date as day,
        count(*) filter (where state = 'whole') as whole,
        count(*) filter (where state = 'healed') as healed,
        count(*) filter (where state = 'push only') as push_only,
        count(*) filter (where state = 'unrecoverable') as unrecoverable,
        count(*) filter (where state = 'pending') as pending,
        sum(healed) as healed_events
      from coverage_between('-infinity', 'infinity') group by 1, 2, 3`.execute(db);
}
