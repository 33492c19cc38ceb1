import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** A forwarder without this migration passes the positions of alerts, which it would never send. */
export const olderProgramsMayRun = false;

/**
 * Two more families, in tables like the others, with the same envelope, guards, order and months: alerts, and events of
 * message types that the program does not know.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createEventTable(
    db,
    'alerts_received',
    `
      severity_id bigint,
      category_id bigint,
      message_metadata_id bigint,
      site_id bigint,
      alert_policy_id bigint,
      alert_rule_id bigint,
      acknowledged boolean,
      record_id text,
      summary text,
      severity_name text,
      category_name text,
      message_metadata_type text,
      alert_source_id text,
      alert_source_name text,
      alert_source_type text,
      alert_source_type_id text,
      site_name text,
      alert_policy_name text,
      acknowledged_username text,
      tags jsonb,`,
  );
  await createIndex(
    db,
    'alerts_received',
    'alert_source_id',
    '(alert_source_id, occurred_at) where alert_source_id is not null',
  );
  await createIndex(
    db,
    'alerts_received',
    'alert_source_name',
    '(alert_source_name, occurred_at) where alert_source_name is not null',
  );
  await comment(
    db,
    'column alerts_received.alert_source_id',
    'The device or site that the alert is about, by the id that the cloud gives it',
  );
  await createEventTable(db, 'other_events', 'sent_type text,');
  await sql`alter table deliveries add column sent_type text`.execute(db);
  // Quarantine needs it for a replay: retention may drop the delivery first.
  await sql`alter table quarantine add column sent_type text`.execute(db);
  await sql`
    create trigger keep_sent_type before update on quarantine for each row
      when (new.sent_type is distinct from old.sent_type) execute function refuse_change()`.execute(db);
  await sql`alter table quarantine enable always trigger keep_sent_type`.execute(db);
  const sentType = 'Of the message type OTHER: its name as sent';
  await comment(db, 'column other_events.sent_type', sentType);
  await comment(db, 'column deliveries.sent_type', sentType);
  await comment(db, 'column quarantine.sent_type', sentType);
  await createViews(db);
}

/** As the tables of the first migration, with the guards of those since. */
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
  const defaultPartition = `${table}_default`;
  await sql`create table ${sql.id(defaultPartition)} partition of ${sql.id(table)} default`.execute(db);
  await createIndex(db, table, 'xid', '(xid, id)');
  await sql`
    create trigger refuse_change before update or delete on ${sql.id(table)}
      for each row execute function refuse_change()`.execute(db);
  // The partitioned table first, then its partition.
  for (const guarded of [table, defaultPartition]) {
    await sql`select guard_table(${guarded}), order_table(${guarded})`.execute(db);
  }
  await comment(
    db,
    `column ${table}.event_id`,
    'Made from the content: the same event delivered again has the same id',
  );
  await comment(db, `column ${table}.occurred_at`, "The record's own time, else the time of its delivery");
  await comment(db, `column ${table}.payload`, 'The record as sent, unknown members and all');
}

async function createIndex(
  db: Kysely<unknown>,
  table: string,
  suffix: string,
  definition: string,
): Promise<void> {
  const name = sql.id(`${table}_${suffix}`);
  await sql`create index ${name} on ${sql.id(table)} using btree ${sql.raw(definition)}`.execute(db);
}

async function comment(db: Kysely<unknown>, object: string, text: string): Promise<void> {
  await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
}

const ENVELOPE = sql.raw(
  [
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
  ].join(', '),
);

async function createViews(db: Kysely<unknown>): Promise<void> {
  await sql`
    create view alert_log as
      select ${ENVELOPE}, record_id, summary, severity_id, severity_name, category_id, category_name,
             message_metadata_id, message_metadata_type, alert_source_id, alert_source_name, alert_source_type,
             alert_source_type_id, site_id, site_name, alert_policy_id, alert_policy_name, alert_rule_id,
             acknowledged, acknowledged_username, tags, payload
      from alerts_received where message_type = 'ALERT'`.execute(db);
  await sql`
    create view other_log as
      select ${ENVELOPE}, sent_type, payload from other_events where message_type = 'OTHER'`.execute(db);
  await sql`grant select on alert_log, other_log to xiq_reader`.execute(db);
  await sql`
    create or replace view events as
      select ${ENVELOPE}, 'audit' as family, user_name, code, null::macaddr as client_mac,
             null::macaddr as ap_mac, description, payload, xid from audit_events
      union all
      select ${ENVELOPE}, 'location' as family, null::text, null::bigint, client_mac,
             ap_mac, null::text, payload, xid from location_observations
      union all
      select ${ENVELOPE}, 'log' as family, username, null::bigint, client_mac,
             ap_mac, description, payload, xid from log_entries
      union all
      select ${ENVELOPE}, 'alerts' as family, null::text, null::bigint, null::macaddr,
             null::macaddr, summary, payload, xid from alerts_received
      union all
      select ${ENVELOPE}, 'other' as family, null::text, null::bigint, null::macaddr,
             null::macaddr, null::text, payload, xid from other_events`.execute(db);
}
