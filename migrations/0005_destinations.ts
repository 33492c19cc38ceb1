import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Where events are forwarded to: how far each destination is, who sends to it now, and what it has refused. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table destinations (
      name text primary key,
      state text not null default 'running' check (state in ('running', 'paused', 'refused')),
      cursor_xid xid8 not null,
      cursor_id bigint not null,
      generation bigint not null default 0,
      sent_count bigint not null default 0,
      lease_holder uuid,
      lease_until timestamptz,
      last_sent_at timestamptz,
      last_error text,
      last_error_at timestamptz,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`
    create table rejected_events (
      destination text not null,
      event_id uuid not null,
      occurred_at timestamptz not null,
      message_type text not null,
      reason text not null,
      rejected_at timestamptz not null default now(),
      replayed_at timestamptz,
      primary key (destination, event_id, occurred_at)
    )`.execute(db);
  const comments = {
    'table destinations': 'How far each destination is in the stored events, and how it is',
    'column destinations.state':
      'running; paused by a person; refused: the destination does not want us, a person has to look',
    'column destinations.cursor_xid':
      'Every event at or before (cursor_xid, cursor_id) was sent, filtered out or set aside in rejected_events',
    'column destinations.generation':
      'Counts the moves of the cursor by a person: who sends notices them by it',
    'column destinations.lease_holder': 'The process that sends, until lease_until unless it renews',
    'table rejected_events':
      'Events that a destination refused for what they say, to be sent again by a person',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`grant select on destinations, rejected_events to xiq_reader`.execute(db);
}
