import { sql, type Kysely } from 'kysely';

/** An older program would not erase a person from these tables. */
export const olderProgramsMayRun = false;

/**
 * Who and what events name, kept ready for the directories of people and devices. The log of positions says which events
 * are counted: those from `first_position` to `next_position`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table seen (
      kind text not null,
      key text collate "C" not null,
      source text not null,
      name text,
      label text collate "C" not null generated always as (lower(coalesce(name, key))) stored,
      audit_at timestamptz,
      location_at timestamptz,
      log_at timestamptz,
      last_seen timestamptz not null generated always as (greatest(audit_at, location_at, log_at)) stored,
      primary key (kind, key, source)
    )`.execute(db);
  await sql`create index seen_last_seen on seen (kind, source, last_seen, key)`.execute(db);
  await sql`create index seen_label on seen (kind, source, label, key)`.execute(db);
  await sql`
    create table seen_days (
      kind text not null,
      key text collate "C" not null,
      source text not null,
      day date not null,
      events bigint not null,
      logins bigint not null,
      changes bigint not null,
      keys bigint not null,
      primary key (kind, key, source, day)
    )`.execute(db);
  await sql`
    create table seen_progress (
      only_row boolean primary key default true check (only_row),
      first_position bigint not null,
      next_position bigint not null
    )`.execute(db);
  await sql`
    insert into seen_progress (first_position, next_position)
    select next_position, next_position from log_state`.execute(db);
  await sql`grant select on seen, seen_days, seen_progress to xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

const COMMENTS = {
  'table seen':
    'Administrators, users, clients and access points that stored events name; some seconds behind',
  'column seen.kind': 'administrator, user, client or access point',
  'column seen.key': 'Name in lower case, or MAC address',
  'column seen.name': 'The latest spelling of a name; of an access point its latest host name',
  'column seen.label': 'What directories are sorted by',
  'column seen.audit_at': 'Time of the latest audit event',
  'column seen.location_at': 'Time of the latest location event',
  'column seen.log_at': 'Time of the latest event of the other types',
  'table seen_days': 'Events of each of them by day (UTC), for the last days',
  'column seen_days.keys': 'Private keys created or deleted',
  'table seen_progress': 'How far events are counted in seen; the process that counts locks its one row',
  'column seen_progress.first_position': 'Position in the log of the first event that is counted',
  'column seen_progress.next_position': 'Position of the next event to count',
} as const;
