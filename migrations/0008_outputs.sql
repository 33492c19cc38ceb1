-- Destinations that events are forwarded to, alerts that rules raise, saved searches, and scheduled reports.

-- How far each destination is in the stored events, and how it is
create table destinations (
  name text primary key,
  state text not null default 'running' check (state in ('running', 'paused', 'refused')), -- running; paused by a person; refused: the destination does not want us, a person has to look
  cursor_position bigint not null, -- Every event before this position was sent, filtered out or set aside in rejected_events
  generation bigint not null default 0, -- Counts the moves of the cursor by a person: who sends notices them by it
  sent_count bigint not null default 0,
  lease_holder uuid, -- The process that sends, until lease_until unless it renews
  lease_until timestamptz, last_sent_at timestamptz, last_error text, last_error_at timestamptz,
  created_at timestamptz not null default now(),
  rejected_in_row integer not null default 0 -- Events set aside as rejected since the last one that was accepted, or since an operator resumed
);

-- Events that a destination refused for what they say, to be sent again by a person
create table rejected_events (
  destination text not null, event_id uuid not null, occurred_at timestamptz not null, message_type text not null,
  reason text not null, rejected_at timestamptz not null default now(), replayed_at timestamptz,
  primary key (destination, event_id, occurred_at)
);
grant select on destinations, rejected_events to xiq_reader;

-- Alerts that rules raised
create table alerts (
  id bigint generated always as identity primary key, raised_at timestamptz not null default now(), rule text not null,
  title text not null, severity text not null check (severity in ('low', 'medium', 'high', 'critical')),
  source text not null,
  grouped_by jsonb not null, -- The columns that the rule groups by, with their values
  event_count integer not null, -- Events that caused it, or distinct values
  first_at timestamptz not null, last_at timestamptz not null,
  causes jsonb not null, -- The latest 100 of them: event_id and occurred_at
  destinations text[], -- Destinations that receive it; null: all
  is_stored boolean not null default false -- Whether it is an event, too
);
create index alerts_raised_at on alerts (raised_at);
create index alerts_to_store on alerts (id) where not is_stored;

-- What rules remember of the groups that they look at
create table rule_states (
  rule text not null, fingerprint text not null, grouped_by text not null, state jsonb not null,
  primary key (rule, grouped_by)
);

-- How far in the log the rules are; locked by the process that evaluates them
create table rule_progress (
  only_row boolean primary key default true check (only_row),
  position bigint, -- Position in the log of the next event; null: no rule was ever on
  rules jsonb not null default '{}', -- The rules that are on, and the fingerprint of their settings
  changes bigint not null default 0, -- Counts the steps: a process that did not make the last one reads the states again
  evaluated_at timestamptz
);
insert into rule_progress default values;
grant select on alerts, rule_progress to xiq_reader;

-- Searches that people keep by name, for everyone who may see what their saver may see.
-- Searches that people saved by name
create table saved_searches (
  id bigint generated always as identity primary key, name text not null,
  line text not null, -- The search line
  since text, -- Start of the range: ISO 8601, or relative such as 24h
  until text, -- End of the range; null: now
  saved_by text not null, saved_at timestamptz not null default now(),
  sources text[], -- The sources that the saver could see, in order; null: all
  raises_alerts boolean not null default false -- Whether events that match from now on raise alerts
);
create unique index saved_searches_name on saved_searches (lower(name), coalesce(sources, '{}'));
-- A line may name people of sources that a reader may not see.
revoke all on saved_searches from public, xiq_reader;

-- The progress of the scheduled reports of the settings
create table report_schedules (
  name text primary key, every text not null check (every in ('day', 'week', 'month')), time_zone text not null,
  next_since timestamptz not null, -- Start of the period of the next report
  leased_until timestamptz, -- Until then, a process may be sending the next report
  attempts integer not null default 0, -- Failed attempts to send the next report
  retry_at timestamptz, last_error text
);

-- Scheduled reports that were sent, each period once
create table reports_sent (
  schedule text not null, since timestamptz not null, until timestamptz not null, report text not null,
  destination text not null, row_count bigint not null, sent_at timestamptz not null default now(),
  primary key (schedule, since)
);
revoke all on report_schedules, reports_sent from public, xiq_reader;
