import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration show an event twice that was fetched from the cloud's log and pushed later. */
export const olderProgramsMayRun = true;

/**
 * The history of the cloud: which record of its logs is which stored event, and which events another one supersedes. Rows
 * of events never change, so both stand beside them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table history_records (
      source text not null,
      message_type text not null,
      log_id text not null,
      occurred_at timestamptz not null,
      event_id uuid,
      event_occurred_at timestamptz,
      status text,
      seen_at timestamptz not null default now(),
      status_changed_at timestamptz,
      primary key (source, message_type, log_id)
    )`.execute(db);
  await sql`create index history_records_event_id on history_records (event_id)`.execute(db);
  await sql`create index history_records_occurred_at on history_records using brin (occurred_at)`.execute(db);
  await sql`
    create table superseded_events (
      event_id uuid primary key,
      occurred_at timestamptz not null,
      message_type text not null,
      source text not null,
      superseded_by uuid not null,
      superseded_at timestamptz not null default now()
    )`.execute(db);
  await sql`
    create trigger refuse_change before update or delete on superseded_events
      for each row execute function refuse_change()`.execute(db);
  await sql`
    create table history_leases (
      name text primary key,
      holder uuid not null,
      until timestamptz not null
    )`.execute(db);
  await sql`
    create table history_progress (
      source text not null,
      message_type text not null,
      compared_until timestamptz not null,
      primary key (source, message_type)
    )`.execute(db);
  const comments = {
    'table history_records': 'Which record of a log of the cloud is which stored event',
    'column history_records.occurred_at': 'The time of the log record',
    'column history_records.event_id': 'Null: the record was fetched and is in quarantine',
    'column history_records.event_occurred_at': 'The time of the event, which differs if the clocks do',
    'column history_records.status':
      'The latest status of a text message or an e-mail; of an alert, whether it is acknowledged; null for other types',
    'table superseded_events':
      'Events that were fetched from a log before their webhook arrived: the views show the webhook alone',
    'table history_progress': 'Up to when a source was compared with its history, as far as that was due',
    'table history_leases': 'Which process compares a source with its history, until when unless it renews',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`select guard_table('superseded_events')`.execute(db);
  await sql`grant select on history_records, history_progress to xiq_reader`.execute(db);
  await hideSuperseded(db);
}

/**
 * Every view of events leaves superseded ones out, also those that other migrations created. Only fetched events are
 * looked up, by the primary key. In a function, because for a subquery the planner expects a cost for every event, and
 * chooses plans that count three times as long.
 */
async function hideSuperseded(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function is_superseded(id uuid) returns boolean language plpgsql stable strict parallel safe cost 1 as $$
    begin
      return exists (select from public.superseded_events where event_id = id);
    end $$`.execute(db);
  const { rows } = await sql<{ name: string; definition: string }>`
    select relname as name, rtrim(pg_get_viewdef(oid), ';') as definition from pg_class
      where relkind = 'v' and relnamespace = 'public'::regnamespace
        and (select count(*) from pg_attribute where attrelid = pg_class.oid and attname in ('event_id', 'origin')) = 2
  `.execute(db);
  for (const { name, definition } of rows) {
    await sql`
      create or replace view ${sql.id(name)} as
        select * from (${sql.raw(definition)}) as stored
        where origin = 'webhook' or not is_superseded(event_id)`.execute(db);
  }
}
