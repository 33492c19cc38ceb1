import { sql, type Kysely } from 'kysely';

/** The sealer of a program without this does not know what is queued here, and its `verify` looks for the rows in the tables alone. */
export const olderProgramsMayRun = false;

export const statements = [
  `create table archived_files (
  id bigint primary key generated always as identity,
  path text not null unique,
  family_table text not null, source text not null, message_type text not null,
  first_at timestamptz not null, last_at timestamptz not null,
  first_received_at timestamptz not null, last_received_at timestamptz not null,
  row_count bigint not null, bytes bigint not null, sha256 text not null, table_bytes bigint not null,
  written_at timestamptz not null default now(), archived_at timestamptz, removed_at timestamptz,
  removed_because text check ((removed_because is null) = (removed_at is null))
)`,
  `create index archived_files_in_use on archived_files (family_table, first_at) where removed_at is null`,
  `create trigger queue_statement_insert after insert on archived_files referencing new table as changed
  for each statement execute function queue_statement('archived file', 'id')`,
  `create trigger queue_statement_update after update on archived_files referencing new table as changed
  for each statement execute function queue_statement('archived file', 'id')`,
  `create trigger refuse_change before update on archived_files for each row when (
    row(new.id, new.path, new.family_table, new.source, new.message_type, new.first_at, new.last_at, new.first_received_at, new.last_received_at, new.row_count, new.bytes,
      new.sha256, new.table_bytes, new.written_at, coalesce(old.archived_at, new.archived_at), coalesce(old.removed_at, new.removed_at))
    is distinct from
    row(old.id, old.path, old.family_table, old.source, old.message_type, old.first_at, old.last_at, old.first_received_at, old.last_received_at, old.row_count, old.bytes,
      old.sha256, old.table_bytes, old.written_at, new.archived_at, new.removed_at)
  ) execute function refuse_change()`,
  `create trigger refuse_delete before delete on archived_files for each row execute function refuse_change()`,
  `alter table archived_files enable always trigger queue_statement_insert, enable always trigger queue_statement_update,
    enable always trigger refuse_change, enable always trigger refuse_delete`,
  // What comes for an archived month is quarantined: nothing here shows whether a file has it already.
  `create function close_month(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
begin
  perform create_month(parent, month);
  execute format('alter table %I add constraint month_is_archived check (false)', parent || to_char(month, '_YYYY_MM'));
end $$`,
  `create function reopen_month(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
begin
  execute format('alter table %I drop constraint if exists month_is_archived', parent || to_char(month, '_YYYY_MM'));
end $$`,
  'revoke execute on function close_month(text, date), reopen_month(text, date) from public',
  'grant select on archived_files to xiq_reader',
];

const COMMENTS = {
  'table archived_files':
    'Files of the archive: events of one source and message type each, of a day or a month',
  'column archived_files.path': 'Below the directory of the archive',
  'column archived_files.family_table': 'The table that the events come from',
  'column archived_files.first_at': 'When the first of the events occurred',
  'column archived_files.last_at': 'When the last of the events occurred',
  'column archived_files.first_received_at': 'When the first of the events was received',
  'column archived_files.last_received_at': 'When the last of the events was received',
  'column archived_files.table_bytes': 'What its events took in the table, indexes included',
  'column archived_files.archived_at':
    'Since when the events are in the file and no longer in the table; null: not yet',
  'column archived_files.removed_at': 'When the events left the file; null: they are there',
  'column archived_files.removed_because': 'Back in the table, or dropped by retention',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
  for (const [subject, comment] of Object.entries(COMMENTS)) {
    await sql.raw(`comment on ${subject} is '${comment}'`).execute(db);
  }
}
