-- The cloud: sources, subscriptions, the comparison with its history, and the inventory.

-- A source is never deleted: its name stays in the rows of its events. `xiq_reader` gets no privilege: the definitions
-- contain encrypted secrets.
-- Sources that were added by command, API or console
create table sources (
  name text primary key check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  definition jsonb not null check (jsonb_typeof(definition) = 'object'), -- As in the settings file; a secret is a reference to the environment or a file, or encrypted under SECRETS_KEY
  old_secrets_until timestamptz, -- When all secrets but the first end; null: they stay
  revision bigint not null default 1, -- Grows with each change: processes read the sources again when the sum has changed
  created_at timestamptz not null default now(), changed_at timestamptz not null default now(),
  disabled_at timestamptz -- Deliveries are refused since then
);
revoke all on sources from public, xiq_reader;

-- The webhook subscriptions that this program keeps in the cloud, as it knows them
create table subscriptions (
  id bigint generated always as identity primary key,
  subscription_id bigint, -- The cloud's id; null while the cloud has not told it
  source text not null, message_type text not null, url text not null, application text not null,
  status text not null, -- ENABLED or DISABLED
  secret_digest text, -- SHA-256 of the registered secret in hexadecimal digits, never the secret
  created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  unique (source, subscription_id)
);
grant select on subscriptions to xiq_reader;

-- Which record of a log of the cloud is which stored event
create table history_records (
  source text not null, message_type text not null, log_id text not null,
  occurred_at timestamptz not null, -- The time of the log record
  event_id uuid, -- Null: the record was fetched and is in quarantine
  event_occurred_at timestamptz, -- The time of the event, which differs if the clocks do
  status text, -- The latest status of a text message or an e-mail; of an alert, whether it is acknowledged; null for other types
  seen_at timestamptz not null default now(), status_changed_at timestamptz, primary key (source, message_type, log_id)
);
create index history_records_event_id on history_records (event_id);
create index history_records_occurred_at on history_records using brin (occurred_at);

-- Which process compares a source with its history, until when unless it renews
create table history_leases (name text primary key, holder uuid not null, until timestamptz not null);

-- Up to when a source was compared with its history, as far as that was due
create table history_progress (
  source text not null, message_type text not null, compared_until timestamptz not null,
  primary key (source, message_type)
);
grant select on history_records, history_progress to xiq_reader;

-- The comparison of the stored events with the cloud's history, by quarter of an hour.
-- The quarters of an hour that were compared with the history of the cloud; coverage_between() has all quarters
create table coverage (
  source text not null, message_type text not null,
  quarter timestamptz not null check (quarter = date_bin('15 minutes', quarter, 'epoch')), -- Start of the quarter of an hour, by the time in the log records
  state text not null check (state in ('whole', 'healed', 'push only', 'unrecoverable', 'pending')),
  healed integer not null, -- Events that were missing and were fetched from the history
  matched integer not null, -- Events that both sides had at the last comparison
  only_webhook integer not null, -- Stored events without a log record at the last comparison
  compared_at timestamptz not null,
  agreed_at timestamptz, -- Since when no comparison has found a difference; null: the last one did
  primary key (source, message_type, quarter)
);

-- A quarter that no comparison has proven is pending as long as the history of its type reaches back to it, if the cloud
-- documents how far that is. The pairs that were compared are found by jumps in the index: the table has a row for each
-- quarter.
-- The state of each quarter of an hour in a time range, since the first arrival of its source and message type
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
      when p.message_type <> all ('{AUDIT_LOG_ALL,AUTHENTICATION_LOG_ALL,ACCOUNTING_LOG_ALL,CREDENTIAL_LOG_ALL,EMAIL_LOG_ALL,SMS_LOG_ALL,ALERT}') then 'push only'
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
$$;

-- The number of quarters in each state, by day in UTC
create view coverage_by_day as
  select source, message_type, (quarter at time zone 'UTC')::date as day,
    count(*) filter (where state = 'whole') as whole,
    count(*) filter (where state = 'healed') as healed,
    count(*) filter (where state = 'push only') as push_only,
    count(*) filter (where state = 'unrecoverable') as unrecoverable,
    count(*) filter (where state = 'pending') as pending,
    sum(healed) as healed_events
  from coverage_between('-infinity', 'infinity') group by 1, 2, 3;
grant select on coverage, coverage_by_day to xiq_reader;

-- Reasons to doubt that all events arrived
create table gaps (
  id bigint generated always as identity primary key,
  source text, -- Null: all sources
  message_type text, -- Null: all message types
  began_at timestamptz not null,
  ended_at timestamptz check (ended_at >= began_at), -- Null: the reason persists
  reason text not null check (reason in (
    'downtime', 'refused', 'subscription off', 'subscription changed', 'silence', 'retention')),
  detail jsonb not null default '{}', recorded_at timestamptz not null default now()
);
create unique index gaps_open on gaps (source, message_type, reason) where ended_at is null;
create trigger queue_statement_insert after insert on gaps referencing new table as changed
  for each statement execute function queue_statement('gap', 'id');
create trigger queue_statement_update after update on gaps referencing new table as changed
  for each statement execute function queue_statement('gap', 'id');
alter table gaps enable always trigger queue_statement_insert, enable always trigger queue_statement_update;

-- When a process that accepts deliveries last reported; one row
create table heartbeat (only_row boolean primary key default true check (only_row), receiving_at timestamptz not null);
grant select on gaps, heartbeat to xiq_reader;

-- Devices, locations and administrators as the API of the cloud names them, with the time for which each version is valid: a
-- renamed device keeps its old name on old events. Two versions of one thing cannot overlap. A number is compared as the
-- range that contains it alone: without an extension, gist has operators only for ranges.
-- Devices of the cloud, one row for each version
create table devices (
  id bigint generated always as identity primary key, source text not null,
  device_id bigint not null, -- The id in the cloud, as in audit_events.device_ids
  mac macaddr, -- As in the column ap_mac of events, if it is an access point
  serial_number text, host_name text, function text,
  location_id bigint, -- As in locations
  valid_from timestamptz not null, -- When a refresh saw this version first
  valid_to timestamptz check (valid_to > valid_from), -- When a refresh saw another version, or that the device is gone; null: now
  unique (source, device_id, valid_from),
  exclude using gist (
    numrange(hashtextextended(source, 0), hashtextextended(source, 0), '[]') with &&,
    numrange(device_id, device_id, '[]') with &&, tstzrange(valid_from, valid_to) with &&)
);
create index devices_mac on devices (source, mac, valid_from);

-- Locations of the cloud, one row for each version
create table locations (
  id bigint generated always as identity primary key, source text not null,
  location_id bigint not null,
  parent_id bigint, -- The location that contains this one
  name text not null,
  type text, -- As the cloud names it
  place text not null, -- The name after those of the locations that contain it, from the building on
  valid_from timestamptz not null, valid_to timestamptz check (valid_to > valid_from),
  unique (source, location_id, valid_from),
  exclude using gist (
    numrange(hashtextextended(source, 0), hashtextextended(source, 0), '[]') with &&,
    numrange(location_id, location_id, '[]') with &&, tstzrange(valid_from, valid_to) with &&)
);

-- Administrators and other users of the account in the cloud, one row for each version
create table people (
  id bigint generated always as identity primary key, source text not null,
  person_id bigint not null,
  user_name text not null, -- The login name, usually an e-mail address, as in the column user_name of events
  name text, role text,
  valid_from timestamptz not null, valid_to timestamptz check (valid_to > valid_from),
  unique (source, person_id, valid_from),
  exclude using gist (
    numrange(hashtextextended(source, 0), hashtextextended(source, 0), '[]') with &&,
    numrange(person_id, person_id, '[]') with &&, tstzrange(valid_from, valid_to) with &&)
);
create index people_user_name on people (source, lower(user_name), valid_from);

-- Looks names up, for the view and for the program. Always returns one row.

create function names_at(
  of_source text, of_ap macaddr, of_locations bigint[], of_user text, at timestamptz,
  out ap_name text, out place text, out person_name text, out person_role text
) returns setof record language sql stable parallel safe begin atomic
  select device.host_name, coalesce(location_of_device.place, deepest.place), person.name, person.role
  from (values (1)) as one
  left join lateral (
    select host_name, location_id from devices
    where source = of_source and mac = of_ap and valid_from <= at and (valid_to is null or valid_to > at) order by valid_from desc, id desc limit 1
  ) as device on true
  left join lateral (
    select locations.place from locations
    where source = of_source and location_id = device.location_id and valid_from <= at and (valid_to is null or valid_to > at) limit 1
  ) as location_of_device on true
  left join lateral (
    with known as (
      select location_id, parent_id, locations.place from locations
      where source = of_source and location_id = any(of_locations) and valid_from <= at and (valid_to is null or valid_to > at)
    )
    select known.place from known
    where not exists (select from known as child where child.parent_id = known.location_id) limit 1
  ) as deepest on true
  left join lateral (
    select name, role from people
    where source = of_source and lower(user_name) = lower(of_user) and valid_from <= at and (valid_to is null or valid_to > at) order by valid_from desc, id desc limit 1
  ) as person on true;
end;

-- Events with the names that the inventory had at their time
create view named_events as
  select events.*, names.* from events
    cross join lateral names_at(source, ap_mac, null, user_name, occurred_at) as names;
grant select on devices, locations, people, named_events to xiq_reader;
