import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * The audit trail: what arrived (`deliveries`), what it said (three partitioned tables, one a family), and what
 * could not be read (`quarantine`). A migration is history and is never edited: it names every column itself.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create sequence events_id_seq as bigint cache 1`.execute(db);

  await sql`
    create table deliveries (
      delivery_id uuid primary key,
      received_at timestamptz not null,
      stored_at timestamptz not null default now(),
      body_bytes integer not null,
      record_count integer not null,
      expected_count integer not null,
      event_count integer not null,
      duplicate_count integer not null,
      quarantined_count integer not null,
      source text not null,
      message_type text not null,
      origin text not null,
      secret_form text
    )`.execute(db);
  // Deliveries are stored in about the order of arrival, where a block range index costs next to nothing.
  await sql`create index deliveries_received_at on deliveries using brin (received_at)`.execute(db);
  await comment(
    db,
    'table deliveries',
    'One inbound POST each, with the counts that must add up: expected = event + duplicate + quarantined',
  );
  await comment(
    db,
    'column deliveries.record_count',
    'Parts of the body: its records and what could not be read as one',
  );
  await comment(
    db,
    'column deliveries.expected_count',
    'What the delivery must account for: one for each record, or for each observation of a location record',
  );
  await comment(db, 'column deliveries.event_count', 'Rows written for this delivery');
  await comment(
    db,
    'column deliveries.duplicate_count',
    'Events that an earlier delivery had already brought',
  );

  await sql`
    create table quarantine (
      quarantine_id uuid primary key,
      delivery_id uuid not null,
      received_at timestamptz not null,
      source text not null,
      message_type text not null,
      reason text not null,
      content bytea not null
    )`.execute(db);
  await sql`create index quarantine_received_at on quarantine (received_at)`.execute(db);
  await comment(
    db,
    'table quarantine',
    'Authenticated bytes or records that could not be read as events, as they came',
  );

  await createEventTable(
    db,
    'audit_events',
    `
      user_id bigint,
      code bigint,
      category bigint,
      device_count bigint,
      device_ids bigint[],
      host_names text[],
      record_id text,
      user_name text,
      vhm_name text,
      org_name text,
      description text,
      config jsonb,`,
  );
  await createIndexes(db, 'audit_events', {
    user_name: 'btree (user_name, occurred_at) where user_name is not null',
    code: 'btree (code, occurred_at) where code is not null',
    host_names: 'gin (host_names) where host_names is not null',
    device_ids: 'gin (device_ids) where device_ids is not null',
  });

  await createEventTable(
    db,
    'location_observations',
    `
      rssi double precision,
      lat double precision,
      lng double precision,
      unc double precision,
      x double precision,
      y double precision,
      client_mac macaddr,
      ap_mac macaddr,
      ipv4 inet,
      ipv6 inet,
      ssid text,
      manufacturer text,
      os text,
      location_id_hierarchy bigint[],`,
  );
  await createIndexes(db, 'location_observations', {
    client_mac: 'btree (client_mac, occurred_at) where client_mac is not null',
    ap_mac: 'btree (ap_mac, occurred_at) where ap_mac is not null',
  });

  await createEventTable(
    db,
    'log_entries',
    `
      user_id bigint,
      start_time timestamptz,
      end_time timestamptz,
      event_time timestamptz,
      auth_date timestamptz,
      acct_start_time timestamptz,
      acct_stop_time timestamptz,
      acct_session_time bigint,
      acct_input_octets bigint,
      acct_output_octets bigint,
      acct_start_delay bigint,
      acct_stop_delay bigint,
      attribute_num bigint,
      client_mac macaddr,
      ap_mac macaddr,
      mgmt_mac_address macaddr,
      nas_ip_address inet,
      framed_ip_address inet,
      record_id text,
      username text,
      status text,
      category text,
      description text,
      vhm_id text,
      customer_id text,
      device_serial_number text,
      ssid text,
      identity text,
      called_station_id text,
      calling_station_id text,
      nas_identifier text,
      nas_port text,
      nas_port_type text,
      group_name text,
      acct_session_id text,
      acct_multi_id text,
      acct_authentic text,
      acct_terminate_cause text,
      connect_info text,
      service_type text,
      auth_type text,
      reply text,
      reject_reason text,
      approver_email text,
      tel text,
      profile_name text,
      message_id text,
      status_from_provider text,
      provider_type text,`,
  );
  await createIndexes(db, 'log_entries', {
    username: 'btree (username, occurred_at) where username is not null',
    client_mac: 'btree (client_mac, occurred_at) where client_mac is not null',
    ap_mac: 'btree (ap_mac, occurred_at) where ap_mac is not null',
    device_serial_number: 'btree (device_serial_number, occurred_at) where device_serial_number is not null',
  });

  await createViews(db);
  await createReader(db);
}

const ENVELOPE = [
  'id',
  'event_id',
  'delivery_id',
  'source',
  'message_type',
  'occurred_at',
  'received_at',
  'owner_id',
  'org_id',
  'origin',
].join(', ');

/**
 * One family's table, partitioned by month. The key begins with the time: new rows then fall on the same few
 * index pages, where a hash alone would touch pages all over, and it answers every question about a time range.
 */
async function createEventTable(db: Kysely<unknown>, table: string, columns: string): Promise<void> {
  await sql`
    create table ${sql.id(table)} (
      id bigint not null default nextval('events_id_seq'),
      xid xid8 not null default pg_current_xact_id(),
      occurred_at timestamptz not null,
      received_at timestamptz not null,
      owner_id bigint,
      org_id bigint,
      event_id uuid not null,
      delivery_id uuid not null,
      source text not null,
      message_type text not null,
      origin text not null,
      ${sql.raw(columns)}
      payload jsonb not null,
      primary key (occurred_at, event_id)
    ) partition by range (occurred_at)`.execute(db);
  await sql`create table ${sql.id(`${table}_default`)} partition of ${sql.id(table)} default`.execute(db);
  // Readers that follow new rows (tail, forwarding) go by transaction, then id: ids alone commit out of order.
  await createIndexes(db, table, { xid: 'btree (xid, id)' });
  await comment(
    db,
    `column ${table}.event_id`,
    'Made from the content: the same event delivered again has the same id',
  );
  await comment(db, `column ${table}.occurred_at`, "The record's own time, else the time of its delivery");
  await comment(db, `column ${table}.payload`, 'The record as sent, unknown members and all');
}

async function createIndexes(
  db: Kysely<unknown>,
  table: string,
  indexes: Record<string, string>,
): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    await sql`create index ${sql.id(`${table}_${name}`)} on ${sql.id(table)} using ${sql.raw(definition)}`.execute(
      db,
    );
  }
}

async function comment(db: Kysely<unknown>, object: string, text: string): Promise<void> {
  await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
}

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view events as
      select ${sql.raw(ENVELOPE)}, 'audit' as family, user_name, code, null::macaddr as client_mac,
             null::macaddr as ap_mac, description, payload, xid from audit_events
      union all
      select ${sql.raw(ENVELOPE)}, 'location' as family, null::text, null::bigint, client_mac,
             ap_mac, null::text, payload, xid from location_observations
      union all
      select ${sql.raw(ENVELOPE)}, 'log' as family, username, null::bigint, client_mac,
             ap_mac, description, payload, xid from log_entries`.execute(db);

  const access = `record_id, username, vhm_id, called_station_id, calling_station_id, client_mac, ap_mac,
    device_serial_number, ssid, identity, nas_port_type, nas_identifier, mgmt_mac_address`;
  const observed = 'client_mac, ap_mac, ipv4, rssi, lat, lng';
  const views = {
    audit_log: [
      'audit_events',
      'AUDIT_LOG_ALL',
      `record_id, user_id, code, category, description, user_name,
      vhm_name, org_name, device_count, host_names, config, device_ids`,
    ],
    location_ap_centric: [
      'location_observations',
      'LOCATION_AP_CENTRIC',
      `${observed}, ipv6, ssid, manufacturer, os,
      unc, x, y`,
    ],
    location_client_centric: [
      'location_observations',
      'LOCATION_CLIENT_CENTRIC',
      `${observed}, location_id_hierarchy`,
    ],
    gdpr_log: [
      'log_entries',
      'GDPR_LOG_ALL',
      `record_id, start_time, end_time, status, category, client_mac, username,
      description`,
    ],
    credential_log: ['log_entries', 'CREDENTIAL_LOG_ALL', 'record_id, username, vhm_id'],
    accounting_log: [
      'log_entries',
      'ACCOUNTING_LOG_ALL',
      `${access}, acct_session_id, acct_multi_id, group_name,
      nas_ip_address, nas_port, acct_start_time, acct_stop_time, acct_session_time, acct_authentic, connect_info,
      acct_input_octets, acct_output_octets, acct_terminate_cause, service_type, framed_ip_address, acct_start_delay,
      acct_stop_delay, attribute_num, event_time`,
    ],
    authentication_log: [
      'log_entries',
      'AUTHENTICATION_LOG_ALL',
      `${access}, auth_type, reply, auth_date,
      reject_reason`,
    ],
    email_log: [
      'log_entries',
      'EMAIL_LOG_ALL',
      'record_id, username, user_id, customer_id, approver_email, status',
    ],
    sms_log: [
      'log_entries',
      'SMS_LOG_ALL',
      `record_id, username, user_id, customer_id, tel, profile_name, status,
      message_id, status_from_provider, provider_type`,
    ],
  } as const;
  for (const [view, [table, messageType, columns]] of Object.entries(views)) {
    await sql`
      create view ${sql.id(view)} as
        select ${sql.raw(ENVELOPE)}, ${sql.raw(columns)}, payload from ${sql.id(table)}
        where message_type = ${sql.lit(messageType)}`.execute(db);
  }

  await sql`
    create view conservation as
      select *, expected_count - event_count - duplicate_count - quarantined_count as unaccounted_count,
             expected_count = event_count + duplicate_count + quarantined_count and unbalanced_deliveries = 0 as adds_up
      from (
        select source, message_type, count(*) as delivery_count, sum(record_count) as record_count,
               sum(expected_count) as expected_count, sum(event_count) as event_count,
               sum(duplicate_count) as duplicate_count, sum(quarantined_count) as quarantined_count,
               count(*) filter (
                 where expected_count <> event_count + duplicate_count + quarantined_count
               ) as unbalanced_deliveries
        from deliveries group by source, message_type
      ) as sums
      order by source, message_type`.execute(db);
}

/**
 * A role that may only select. It belongs to the cluster, so another database may have made it already, for an
 * owner that cannot give it away: then this one goes without, and `xiq-sink sql` says what is missing.
 */
async function createReader(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      if to_regrole('xiq_reader') is null then
        create role xiq_reader nologin;
      end if;
    exception when duplicate_object or unique_violation then null;
    end $$`.execute(db);
  await sql`
    do $$ begin
      grant xiq_reader to current_user;
    exception when insufficient_privilege then
      raise warning '% may not become xiq_reader: let an administrator grant it', current_user;
    end $$`.execute(db);
  await sql`grant usage on schema public to xiq_reader`.execute(db);
  await sql`grant select on all tables in schema public to xiq_reader`.execute(db);
}
