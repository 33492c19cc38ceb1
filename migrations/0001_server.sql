-- The reading role, the guards of stored rows, the order of storing, and the tables by which processes know each other and
-- this installation.

-- A role that may only select. It belongs to the server, so another database may have created it already, for an owner who
-- cannot grant it: then this one goes without, and `xiq-sink sql` reports what is missing.

do $$ begin
  if to_regrole('xiq_reader') is null then
    create role xiq_reader nologin;
  end if;
exception when duplicate_object or unique_violation then null;
end $$;
do $$ begin
  grant xiq_reader to current_user;
exception when insufficient_privilege then
  raise warning '% may not become xiq_reader: let an administrator grant it', current_user;
end $$;
grant usage on schema public to xiq_reader;
-- The tables of the migrator.
grant select on all tables in schema public to xiq_reader;
-- Before Postgres 15 everybody may create tables in the schema, the reading role included.
revoke create on schema public from public;

-- Stored rows stay as they were written: nobody updates, deletes or truncates them, this program included. The owner loses
-- the privileges, and triggers, which fire for a superuser as well, report why. Guards fire always: else a session with
-- `session_replication_role = replica` would not be stopped. `erase_rows` alone may delete: its calls are known by their
-- place on the stack, because a setting or a row could be set by others.

create function refuse_change() returns trigger language plpgsql as $$
declare
  stack text;
begin
  get diagnostics stack = pg_context;
  if tg_op = 'DELETE' and tg_table_name <> 'erasures' and stack ~ '(?n)^PL/pgSQL function erase_rows[(]' then
    return old;
  end if;
  raise exception '% on % is refused: what is stored stays as it was written', lower(tg_op), tg_table_name
    using errcode = 'insufficient_privilege',
          hint = 'Events leave by retention, which drops whole months (RETENTION_AUDIT_MONTHS and its like), or by xiq-sink erase.';
end $$;

-- A partition is a table with privileges of its own, and gets no trigger on truncate from its parent.
-- Takes from a table what could change its rows; for each new partition
create function guard_table(guarded regclass) returns void language plpgsql as $$
declare
  guard name;
begin
  execute format('revoke update, delete, truncate on %s from current_user', guarded);
  execute format('grant select on %s to xiq_reader', guarded);
  if session_user <> current_user then
    execute format('grant select, insert on %s to session_user', guarded);
  end if;
  execute format(
    'create or replace trigger refuse_truncate before truncate on %s for each statement execute function refuse_change()',
    guarded
  );
  for guard in
    select tgname from pg_trigger where tgrelid = guarded and tgenabled <> 'A' and not tgisinternal
  loop
    execute format('alter table %s enable always trigger %I', guarded, guard);
  end loop;
end $$;

-- Rows that may change are sealed too: each change queues the row, and the sealer reads its new state.

create function queue_statement() returns trigger language plpgsql as $$
begin
  execute format('insert into public.log_queue (kind, key) select %L, %I::text from changed', tg_argv[0], tg_argv[1]);
  return null;
end $$;

-- Readers that follow new rows stop before the first transaction that may still store some (src/store/log/horizon.ts). They
-- recognise such a transaction by its lock on `deliveries`, so it must have the lock before it gets its transaction id:
-- `begin_storing` does both in this order, and every insert calls it. An insert by a transaction that already has an id, and
-- has it without the lock, is refused: readers may have passed that id. The lock is one on the parent alone: the partitions
-- would be locked one by one, too.
-- Called first in a transaction that stores deliveries or events: it takes the lock, then the transaction id
create function begin_storing() returns void language plpgsql as $$
declare
  own text := pg_current_xact_id_if_assigned()::text;
begin
  if own is null then
    lock table only public.deliveries in row exclusive mode;
    perform set_config('xiq_sink.storing', pg_current_xact_id()::text, true);
  elsif own is distinct from current_setting('xiq_sink.storing', true) then
    raise exception 'this transaction got its transaction id before it began to store'
      using errcode = 'object_not_in_prerequisite_state',
            hint = 'Make "select begin_storing()" the first statement of the transaction, before any savepoint.';
  end if;
end $$;

create function store_in_order() returns trigger language plpgsql as $$
begin
  perform public.begin_storing();
  return null;
end $$;

-- For each statement, not for each row. A partition needs its own, for rows that are inserted into it directly.
-- Makes inserts into a table follow the order of storing; for each new partition
create function order_table(ordered regclass) returns void language plpgsql as $$
begin
  execute format(
    'create trigger store_in_order before insert on %s for each statement execute function public.store_in_order()',
    ordered
  );
  execute format('alter table %s enable always trigger store_in_order', ordered);
end $$;

-- Rows that a process locks to be the only one that does something; the reading role cannot lock a row
create table locks (name text primary key);
insert into locks values ('maintenance'), ('default partitions');

-- The id of this installation: one row
create table installation (
  is_only boolean primary key default true check (is_only),
  id uuid not null default gen_random_uuid(), -- Marks the queue in Redis as that of this database; stays the same in a restored backup
  created_at timestamptz not null default now()
);
revoke all on locks, installation from public, xiq_reader;

-- The running processes of this service, and those that died within the last day
create table processes (
  process_id uuid primary key, role text not null, host text not null, pid integer not null, version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default now(), -- When it last reported, which it does every 10 s
  figures jsonb not null -- What it has done in the last minute, and how it is
);

-- Whether programs that do not know a migration may run on its tables
create table schema_compatibility (
  migration text primary key,
  older_programs_may_run boolean not null -- True: the migration only added what older programs need not know
);
grant select on processes, schema_compatibility to xiq_reader;
