-- Deliveries, the events of the five families, and their views. A migration names every column itself.

-- Each partition has a primary key of its own, `delivery_id`: a delivery carries its `received_at` wherever it waits, so it
-- always comes to the same partition. Deliveries are stored in about the order of arrival, where a block range index costs
-- next to nothing.
-- One inbound POST each, with the counts that must add up: expected = event + duplicate + quarantined
create table deliveries (
  delivery_id uuid not null, received_at timestamptz not null, stored_at timestamptz not null default now(),
  body_bytes integer not null,
  record_count integer not null, -- Parts of the body: its records and what could not be read as one
  expected_count integer not null, -- What the delivery must account for: one for each record, or for each observation of a location record
  event_count integer not null, -- Rows written for this delivery
  duplicate_count integer not null, -- Events that an earlier delivery had already brought
  quarantined_count integer not null, source text not null, message_type text not null, origin text not null,
  secret_form text,
  xid xid8 default pg_current_xact_id(), -- The transaction that stored it; null in rows of before this column
  sent_type text, -- Of the message type OTHER: its name as sent
  era integer not null default 0, -- Counts the servers that the database was on: xid is an id of the server of this era
  refused_count integer not null default 0 -- Records of erased persons that were not stored again; not among the expected
) partition by range (received_at);
create table deliveries_default partition of deliveries default;
alter table deliveries_default add primary key (delivery_id);
create index deliveries_received_at on deliveries using brin (received_at);
create index deliveries_quarantined on deliveries (delivery_id) where quarantined_count > 0;
create index deliveries_xid on deliveries (xid) where xid is not null;

create sequence events_id_seq as bigint cache 1;

-- The envelope of the events, for the tables below.

create table event_envelope (
  id bigint not null default nextval('events_id_seq'), xid xid8 not null default pg_current_xact_id(),
  occurred_at timestamptz not null, -- The record's own time, else the time of its delivery
  received_at timestamptz not null, owner_id bigint, org_id bigint,
  event_id uuid not null, -- Made from the content: the same event delivered again has the same id
  delivery_id uuid not null, source text not null, message_type text not null, origin text not null,
  payload jsonb not null, -- The record as sent, unknown members and all
  place integer not null default 0 -- Place of the event in its delivery; 0 if it was stored before there was a log
);

-- A table for each family, partitioned by month. The key begins with the time: new rows then fall on the same few index
-- pages, where a hash alone would touch pages all over, and it answers every query for a time range.

create table audit_events (
  like event_envelope including defaults including comments,
  user_id bigint, code bigint, category bigint, device_count bigint, device_ids bigint[], host_names text[],
  record_id text, user_name text, vhm_name text, org_name text, description text, config jsonb,
  primary key (occurred_at, event_id)
) partition by range (occurred_at);

create table location_observations (
  like event_envelope including defaults including comments,
  rssi double precision, lat double precision, lng double precision, unc double precision, x double precision,
  y double precision, client_mac macaddr, ap_mac macaddr, ipv4 inet, ipv6 inet, ssid text, manufacturer text, os text,
  location_id_hierarchy bigint[],
  primary key (occurred_at, event_id)
) partition by range (occurred_at);

create table log_entries (
  like event_envelope including defaults including comments,
  user_id bigint, start_time timestamptz, end_time timestamptz, event_time timestamptz, auth_date timestamptz,
  acct_start_time timestamptz, acct_stop_time timestamptz, acct_session_time bigint, acct_input_octets bigint,
  acct_output_octets bigint, acct_start_delay bigint, acct_stop_delay bigint, attribute_num bigint, client_mac macaddr,
  ap_mac macaddr, mgmt_mac_address macaddr, nas_ip_address inet, framed_ip_address inet, record_id text, username text,
  status text, category text, description text, vhm_id text, customer_id text, device_serial_number text, ssid text,
  identity text, called_station_id text, calling_station_id text, nas_identifier text, nas_port text, nas_port_type text,
  group_name text, acct_session_id text, acct_multi_id text, acct_authentic text, acct_terminate_cause text,
  connect_info text, service_type text, auth_type text, reply text, reject_reason text, approver_email text, tel text,
  profile_name text, message_id text, status_from_provider text, provider_type text,
  primary key (occurred_at, event_id)
) partition by range (occurred_at);

create table alerts_received (
  like event_envelope including defaults including comments,
  severity_id bigint, category_id bigint, message_metadata_id bigint, site_id bigint, alert_policy_id bigint,
  alert_rule_id bigint, acknowledged boolean, record_id text, summary text, severity_name text, category_name text,
  message_metadata_type text,
  alert_source_id text, -- The device or site that the alert is about, by the id that the cloud gives it
  alert_source_name text, alert_source_type text, alert_source_type_id text, site_name text, alert_policy_name text,
  acknowledged_username text, tags jsonb,
  primary key (occurred_at, event_id)
) partition by range (occurred_at);

create table other_events (
  like event_envelope including defaults including comments,
  sent_type text, -- Of the message type OTHER: its name as sent
  primary key (occurred_at, event_id)
) partition by range (occurred_at);
drop table event_envelope;

-- Indexes on names in lower case answer searches by the beginning of a name. They have all rows: the planner does not use
-- the statistics of a partial index, and would read the rows in order of time. An index entry must be short, and the name of
-- a network has at most 32 bytes (IEEE 802.11), but a sender may write anything.
create index audit_events_user_name on audit_events (user_name, occurred_at) where user_name is not null;
create index audit_events_code on audit_events (code, occurred_at) where code is not null;
create index audit_events_host_names on audit_events using gin (host_names) where host_names is not null;
create index audit_events_device_ids on audit_events using gin (device_ids) where device_ids is not null;
create index audit_events_user_name_prefix on audit_events (lower(user_name) text_pattern_ops, occurred_at);
create index location_observations_client_mac on location_observations (client_mac, occurred_at) where client_mac is not null;
create index location_observations_ap_mac on location_observations (ap_mac, occurred_at) where ap_mac is not null;
create index location_observations_ssid_prefix on location_observations (lower(left(ssid, 64)) text_pattern_ops, occurred_at);
create index log_entries_username on log_entries (username, occurred_at) where username is not null;
create index log_entries_client_mac on log_entries (client_mac, occurred_at) where client_mac is not null;
create index log_entries_ap_mac on log_entries (ap_mac, occurred_at) where ap_mac is not null;
create index log_entries_device_serial_number on log_entries (device_serial_number, occurred_at) where device_serial_number is not null;
create index log_entries_username_prefix on log_entries (lower(username) text_pattern_ops, occurred_at);
create index log_entries_ssid_prefix on log_entries (lower(left(ssid, 64)) text_pattern_ops, occurred_at);
create index alerts_received_alert_source_id on alerts_received (alert_source_id, occurred_at) where alert_source_id is not null;
create index alerts_received_alert_source_name on alerts_received (alert_source_name, occurred_at) where alert_source_name is not null;

-- Readers that follow new rows go by transaction, then id: ids alone commit out of order. The partitioned table is guarded
-- first, then its partition: before Postgres 15, the triggers of a partition follow only then.
do $$
declare
  family name;
begin
  foreach family in array array[
    'deliveries', 'audit_events', 'location_observations', 'log_entries', 'alerts_received', 'other_events']
  loop
    if family <> 'deliveries' then
      execute format('create table %I partition of %I default', family || '_default', family);
      execute format('create index %I on %I (xid, id)', family || '_xid', family);
    end if;
    execute format('create trigger refuse_change before update or delete on %I
      for each row execute function refuse_change()', family);
    perform guard_table(relid), order_table(relid) from pg_partition_tree(family::regclass) order by level;
  end loop;
end $$;

-- Rows of events never change, so what supersedes them stands beside them. Only fetched events are looked up, by the primary
-- key. In a function, because for a subquery the planner expects a cost for every event, and chooses plans that count three
-- times as long.
-- Events that were fetched from a log before their webhook arrived: the views show the webhook alone
create table superseded_events (
  event_id uuid primary key, occurred_at timestamptz not null, message_type text not null, source text not null,
  superseded_by uuid not null, superseded_at timestamptz not null default now()
);
create trigger refuse_change before update or delete on superseded_events for each row execute function refuse_change();
select guard_table('superseded_events');

create function is_superseded(id uuid) returns boolean language plpgsql stable strict parallel safe cost 1 as $$
begin
  return exists (select from public.superseded_events where event_id = id);
end $$;

-- A view for each message type, and one of all events: without the superseded ones
do $$
declare
  one record;
begin
  for one in values
    ('audit_log', 'audit_events', 'AUDIT_LOG_ALL',
      'record_id, user_id, code, category, description, user_name, vhm_name, org_name, device_count, host_names, config,
      device_ids'),
    ('location_ap_centric', 'location_observations', 'LOCATION_AP_CENTRIC',
      'client_mac, ap_mac, ipv4, rssi, lat, lng, ipv6, ssid, manufacturer, os, unc, x, y'),
    ('location_client_centric', 'location_observations', 'LOCATION_CLIENT_CENTRIC',
      'client_mac, ap_mac, ipv4, rssi, lat, lng, location_id_hierarchy'),
    ('gdpr_log', 'log_entries', 'GDPR_LOG_ALL',
      'record_id, start_time, end_time, status, category, client_mac, username, description'),
    ('credential_log', 'log_entries', 'CREDENTIAL_LOG_ALL', 'record_id, username, vhm_id'),
    ('accounting_log', 'log_entries', 'ACCOUNTING_LOG_ALL',
      'record_id, username, vhm_id, called_station_id, calling_station_id, client_mac, ap_mac, device_serial_number, ssid,
      identity, nas_port_type, nas_identifier, mgmt_mac_address, acct_session_id, acct_multi_id, group_name, nas_ip_address,
      nas_port, acct_start_time, acct_stop_time, acct_session_time, acct_authentic, connect_info, acct_input_octets,
      acct_output_octets, acct_terminate_cause, service_type, framed_ip_address, acct_start_delay, acct_stop_delay,
      attribute_num, event_time'),
    ('authentication_log', 'log_entries', 'AUTHENTICATION_LOG_ALL',
      'record_id, username, vhm_id, called_station_id, calling_station_id, client_mac, ap_mac, device_serial_number, ssid,
      identity, nas_port_type, nas_identifier, mgmt_mac_address, auth_type, reply, auth_date, reject_reason'),
    ('email_log', 'log_entries', 'EMAIL_LOG_ALL',
      'record_id, username, user_id, customer_id, approver_email, status'),
    ('sms_log', 'log_entries', 'SMS_LOG_ALL',
      'record_id, username, user_id, customer_id, tel, profile_name, status, message_id, status_from_provider,
      provider_type'),
    ('alert_log', 'alerts_received', 'ALERT',
      'record_id, summary, severity_id, severity_name, category_id, category_name, message_metadata_id,
      message_metadata_type, alert_source_id, alert_source_name, alert_source_type, alert_source_type_id, site_id,
      site_name, alert_policy_id, alert_policy_name, alert_rule_id, acknowledged, acknowledged_username, tags'),
    ('other_log', 'other_events', 'OTHER', 'sent_type')
  loop
    execute format('create view %I as
      select * from (
        select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin, %s, payload
        from %I where message_type = %L
      ) as stored where origin = ''webhook'' or not is_superseded(event_id)',
      one.column1, one.column4, one.column2, one.column3);
  end loop;
end $$;
create view events as
  select * from (
    select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin,
      'audit' as family, user_name, code, null::macaddr as client_mac, null::macaddr as ap_mac, description, payload, xid
      from audit_events
    union all
    select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin,
      'location' as family, null::text as user_name, null::bigint as code, client_mac, ap_mac, null::text as description, payload, xid
      from location_observations
    union all
    select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin,
      'log' as family, username as user_name, null::bigint as code, client_mac, ap_mac, description, payload, xid
      from log_entries
    union all
    select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin,
      'alerts' as family, null::text as user_name, null::bigint as code, null::macaddr as client_mac, null::macaddr as ap_mac, summary as description, payload, xid
      from alerts_received
    union all
    select id, event_id, delivery_id, source, message_type, occurred_at, received_at, owner_id, org_id, origin,
      'other' as family, null::text as user_name, null::bigint as code, null::macaddr as client_mac, null::macaddr as ap_mac, null::text as description, payload, xid
      from other_events
  ) as stored where origin = 'webhook' or not is_superseded(event_id);
grant select on audit_log, location_ap_centric, location_client_centric, gdpr_log, credential_log, accounting_log,
  authentication_log, email_log, sms_log, alert_log, other_log, events to xiq_reader;
