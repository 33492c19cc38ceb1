-- Counts that are kept ready.

-- What arrived, by minute, source and message type. Each delivery is counted once, by the transaction that stored it.
-- What arrived, counted by time of arrival; some seconds behind deliveries
create table arrivals (
  bucket timestamptz not null, -- Start of the minute or hour
  seconds integer not null check (seconds in (60, 3600)), -- 60; 3600 once it is older than 14 days
  source text not null, message_type text not null,
  deliveries bigint not null, records bigint not null, expected bigint not null, events bigint not null,
  duplicates bigint not null, quarantined bigint not null, bytes bigint not null,
  unbalanced bigint not null, -- Deliveries whose counts do not add up: none when all is well
  last_received_at timestamptz not null,
  primary key (bucket, seconds, source, message_type)
);

-- The same of all times
create table arrival_totals (
  source text not null, message_type text not null,
  deliveries bigint not null, records bigint not null, expected bigint not null, events bigint not null,
  duplicates bigint not null, quarantined bigint not null, bytes bigint not null, unbalanced bigint not null,
  last_received_at timestamptz not null,
  primary key (source, message_type)
);

-- How far deliveries are counted in arrivals; who counts locks its one row
create table arrivals_progress (
  only_row boolean primary key default true check (only_row),
  next_xid xid8 not null, -- Deliveries that an earlier transaction stored are counted
  era integer not null default 0 -- The present era: next_xid is an id of its server
);
insert into arrivals_progress (next_xid) values ('0');
grant select on arrivals, arrival_totals, arrivals_progress to xiq_reader;

-- The rows of each partition of deliveries are counted again, and compared with what was counted when they arrived.
-- When the rows of each partition of deliveries were last counted
create table delivery_recounts (
  partition text primary key, counted_at timestamptz not null,
  counted_to xid8 not null, -- Rows that an earlier transaction stored are counted
  changes text not null, -- File, updates and deletes of the partition when it was counted: a change means that it must be counted again
  until timestamptz, -- End of the months of the partition; null for the default partition
  dropped_at timestamptz, -- When retention dropped the partition; its sums are kept
  counted_era integer not null default 0 -- The era of counted_to
);

-- The rows that each partition of deliveries had when it was last counted
create table delivery_sums (
  partition text not null, source text not null, message_type text not null,
  deliveries bigint not null, records bigint not null, expected bigint not null, events bigint not null,
  duplicates bigint not null, quarantined bigint not null, bytes bigint not null, unbalanced bigint not null,
  last_received_at timestamptz,
  missing bigint not null, -- Deliveries that were counted in arrivals when they were stored, and are not found any more
  differs boolean not null, -- Whether any sum differs from what arrivals counted
  primary key (partition, source, message_type)
);
grant select on delivery_recounts, delivery_sums to xiq_reader;

-- People and devices that events name, for the directories. The log of positions shows which events are counted: those from
-- `first_position` to `next_position`.
-- Administrators, users, clients and access points that stored events name; some seconds behind
create table seen (
  kind text not null, -- administrator, user, client or access point
  key text collate "C" not null, -- Name in lower case, or MAC address
  source text not null,
  name text, -- The latest spelling of a name; of an access point its latest host name
  label text collate "C" not null generated always as (lower(coalesce(name, key))) stored, -- What directories are sorted by
  audit_at timestamptz, -- Time of the latest audit event
  location_at timestamptz, -- Time of the latest location event
  log_at timestamptz, -- Time of the latest event of the other types
  last_seen timestamptz not null generated always as (greatest(audit_at, location_at, log_at)) stored,
  primary key (kind, key, source)
);
create index seen_last_seen on seen (kind, source, last_seen, key);
create index seen_label on seen (kind, source, label, key);

-- Events of each of them by day (UTC), for the last days
create table seen_days (
  kind text not null, key text collate "C" not null, source text not null, day date not null, events bigint not null,
  logins bigint not null, changes bigint not null,
  keys bigint not null, -- Private keys created or deleted
  primary key (kind, key, source, day)
);

-- How far events are counted in seen; the process that counts locks its one row
create table seen_progress (
  only_row boolean primary key default true check (only_row),
  first_position bigint not null, -- Position in the log of the first event that is counted
  next_position bigint not null -- Position of the next event to count
);
insert into seen_progress (first_position, next_position) values (0, 0);
grant select on seen, seen_days, seen_progress to xiq_reader;
