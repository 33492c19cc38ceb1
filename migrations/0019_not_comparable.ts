import { sql, type Kysely } from 'kysely';

/** The comparison of a program without this would make a quarter pending again that is sealed as not comparable. */
export const olderProgramsMayRun = false;

export const statements = [
  `alter table coverage add column reason text, drop constraint coverage_state_check,
    add constraint coverage_state_check
      check (state in ('whole', 'healed', 'push only', 'unrecoverable', 'not comparable', 'pending')),
    add check ((state = 'not comparable') = (reason is not null))`,
  `comment on column coverage.reason is 'Why the history proves nothing about a quarter that is not comparable; null in other states'`,
  'drop view coverage_by_day',
  'drop function coverage_between(timestamptz, timestamptz)',
  // As before, with the state and its reason.
  `create function coverage_between(from_time timestamptz, to_time timestamptz)
returns table (source text, message_type text, quarter timestamptz, state text, healed integer, reason text)
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
      when p.message_type <> all ('{AUDIT_LOG_ALL,AUTHENTICATION_LOG_ALL,ACCOUNTING_LOG_ALL,CREDENTIAL_LOG_ALL,EMAIL_LOG_ALL,SMS_LOG_ALL,ALERT}') then 'push only'
      when q.start < now() - case p.message_type
        when 'AUDIT_LOG_ALL' then interval '30 days'
        when 'AUTHENTICATION_LOG_ALL' then interval '7 days' end then 'unrecoverable'
      when c.state = 'not comparable' then c.state
      else 'pending' end,
    coalesce(c.healed, 0), c.reason
  from pairs p
  cross join generate_series(
    date_bin('15 minutes', greatest(p.since, from_time), 'epoch'),
    least(to_time, now()) - interval '1 microsecond', interval '15 minutes') as q (start)
  left join coverage c
    on c.source = p.source and c.message_type = p.message_type and c.quarter = q.start
$$`,
  `comment on function coverage_between(timestamptz, timestamptz) is 'The state of each quarter of an hour in a time range, since the first arrival of its source and message type'`,
  `create view coverage_by_day as
  select source, message_type, (quarter at time zone 'UTC')::date as day,
    count(*) filter (where state = 'whole') as whole,
    count(*) filter (where state = 'healed') as healed,
    count(*) filter (where state = 'push only') as push_only,
    count(*) filter (where state = 'unrecoverable') as unrecoverable,
    count(*) filter (where state = 'pending') as pending,
    sum(healed) as healed_events,
    count(*) filter (where state = 'not comparable') as not_comparable
  from coverage_between('-infinity', 'infinity') group by 1, 2, 3;`,
  `comment on view coverage_by_day is 'The number of quarters in each state, by day in UTC'`,
  'grant select on coverage_by_day to xiq_reader',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
