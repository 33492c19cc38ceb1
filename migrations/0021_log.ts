import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** An older forwarder would go on at the cursor by transaction ids, and send again what was sent by position. */
export const olderProgramsMayRun = false;

const EVENT_TABLES = [
  'audit_events',
  'location_observations',
  'log_entries',
  'alerts_received',
  'other_events',
] as const;

/**
 * The log: every event in one order, each with a position, independent of the server's transaction ids. The events of
 * now get the positions below `next_position`, the newest the highest: the sequencer fills them in from above.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Whoever stores locks this table first. Nobody does from here on, so that every event is of before or of after.
  // The owner may not lock it, but gets the same lock by this change, which changes nothing.
  await sql`alter table only deliveries enable always trigger store_in_order`.execute(db);
  for (const table of EVENT_TABLES) {
    await sql`alter table ${sql.id(table)} add column place integer not null default 0`.execute(db);
    await comment(
      db,
      `column ${table}.place`,
      'Place of the event in its delivery; 0 if it was stored before there was a log',
    );
  }
  await sql`
    create table log_kinds (
      kind integer primary key generated always as identity,
      source text not null,
      message_type text not null,
      unique (source, message_type)
    )`.execute(db);
  // A full tile of 256 entries takes 7.3 kB: it stays on one page, and nothing of it is stored elsewhere.
  await sql`
    create table log_tiles (
      first bigint primary key,
      kinds integer[] not null,
      occurred_at timestamptz[] not null,
      event_ids uuid[] not null,
      received_from timestamptz not null,
      received_to timestamptz not null
    ) with (toast_tuple_target = 8160)`.execute(db);
  await sql`create index log_tiles_received_to on log_tiles (received_to, first)`.execute(db);
  await sql`
    create table log_state (
      only_row boolean primary key default true check (only_row),
      first_position bigint not null,
      next_position bigint not null,
      server text not null,
      next_xid xid8 not null,
      held_xid xid8 not null,
      held_since timestamptz not null default now(),
      last_received timestamptz not null default '-infinity',
      last_id bigint not null,
      earlier_id bigint not null,
      old_id_limit bigint not null,
      old_xid xid8,
      old_id bigint
    )`.execute(db);
  // As many positions as there can be events, in whole tiles.
  await sql`
    insert into log_state (first_position, next_position, server, next_xid, held_xid, last_id, earlier_id, old_id_limit, old_xid, old_id)
    select room, room, (select system_identifier from pg_control_system())::text,
      horizon, horizon, last_id, last_id, last_id, '18446744073709551615', 0
    from (select case when is_called then last_value else 0 end as last_id from events_id_seq) as sequence,
      lateral (select (last_id + 255) / 256 * 256 as room) as needed,
      pg_snapshot_xmin(pg_current_snapshot()) as horizon`.execute(db);
  await sql`
    alter table destinations add column cursor_position bigint, alter column cursor_xid drop not null,
      alter column cursor_id drop not null`.execute(db);
  await sql`grant select on log_kinds, log_tiles, log_state to xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) await comment(db, object, text);
}

const COMMENTS = {
  'table log_kinds': 'Each source and message type that the log has events of',
  'table log_tiles':
    'The log: events in their order, 256 to a tile. The newest are in shorter pieces until their tile is full',
  'column log_tiles.first': 'Position of the first entry; the others follow without a gap',
  'column log_tiles.received_from': 'When the earliest of the events was received',
  'column log_tiles.received_to': 'When the latest of the events was received',
  'table log_state': 'How far the log is; locked by the process that extends it',
  'column log_state.first_position': 'Position of the oldest event in the log so far',
  'column log_state.next_position': 'Position of the next event',
  'column log_state.server': 'System identifier of the server whose transaction ids next_xid is one of',
  'column log_state.next_xid': 'The log has all events that earlier transactions of this server stored',
  'column log_state.held_xid':
    'Of the transactions from next_xid up to this one, the log has the events that were received at last_received or before; the others wait, so that earlier ones can overtake them',
  'column log_state.held_since': 'When held_xid was set',
  'column log_state.last_received': 'See held_xid',
  'column log_state.last_id': 'Highest id of an event in the log',
  'column log_state.earlier_id':
    'Events up to this id were stored by another server, or before there was a log: their transaction ids say nothing',
  'column log_state.old_id_limit': 'Events up to this id were stored before there was a log',
  'column log_state.old_xid':
    'Events at or before (old_xid, old_id), of those before the log, have no position yet; null when all have one',
  'column destinations.cursor_position':
    'Every event before this position was sent, filtered out or set aside; null until the log has reached (cursor_xid, cursor_id)',
  'column destinations.cursor_xid': 'The cursor before there was a log',
} as const;

async function comment(db: Kysely<unknown>, object: string, text: string): Promise<void> {
  await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
}
