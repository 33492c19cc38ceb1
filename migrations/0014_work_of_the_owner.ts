import { sql, type Kysely } from 'kysely';

/** Programs without it become the owner instead, where their login may. */
export const olderProgramsMayRun = true;

/**
 * While it runs, the service creates and drops months, and some more that only the owner of the tables may do. Each such
 * step is a function of the owner, which the service calls: its login need not be able to become the owner. What takes a
 * text that becomes a part of a statement is no function of the owner's rights, or it takes a name alone.
 */
const STEPS = [
  // Apart from the changes themselves, because the caller limits how long a statement waits for all locks together.
  `create function lock_tables(tables text[]) returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
  names text := (select string_agg(format('%I', one), ', ') from unnest(tables) as one);
  -- Before Postgres 17, the lock needs a privilege that the guard has taken from the owner, too.
  is_old boolean := current_setting('server_version_num')::int < 170000;
begin
  if is_old then
    execute format('grant truncate on %s to current_user', names);
  end if;
  execute format('lock table %s in access exclusive mode', (select string_agg(format('only %I', one), ', ') from unnest(tables) as one));
  if is_old then
    execute format('revoke truncate on %s from current_user', names);
  end if;
end $$`,
  `create function create_like(parent text, name text) returns void language plpgsql as $$
begin
  execute format('create table %I (like %I including defaults including constraints)', name, parent);
  if parent = 'deliveries' then
    execute format('alter table %I add primary key (delivery_id)', name);
  end if;
end $$`,
  // Attached last: readers and writers of the default partition wait from then on.
  `create function attach_guarded(parent text, name text, bounds text) returns void language plpgsql as $$
begin
  perform guard_table(name::regclass), order_table(name::regclass);
  execute format('alter table %I attach partition %I %s', parent, name, bounds);
end $$`,
  `create function bounds_of(month date) returns text language sql as $$
  select format('for values from (%L) to (%L)', month, (month + interval '1 month')::date) $$`,
  `create function is_in(parent text, month date) returns text language sql as $$
  select format('%1$I >= %2$L and %1$I < %3$L', case parent when 'deliveries' then 'received_at' else 'occurred_at' end,
    month::timestamptz, (month + interval '1 month')::timestamptz) $$`,
  `create function create_month(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  name text := parent || to_char(month, '_YYYY_MM');
begin
  perform create_like(parent, name);
  perform attach_guarded(parent, name, bounds_of(month));
end $$`,
  // The copies of a default partition exist only while it takes no row: else rows that came later would be lost with it.
  `create function let_rows_in(parent text) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  execute format('alter table %I drop constraint if exists wait_for_partition', parent || '_default');
  execute format('drop table if exists %I, %I', parent || '_new_month', parent || '_new_default');
end $$`,
  // Without a month, all rows wait.
  `create function let_rows_wait(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
begin
  perform let_rows_in(parent);
  execute format('alter table %I add constraint wait_for_partition check (%s) not valid', parent || '_default',
    case when month is null then 'false' else format('not (%s)', is_in(parent, month)) end);
end $$`,
  `create function check_waiting(parent text) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  execute format('alter table %I validate constraint wait_for_partition', parent || '_default');
end $$`,
  `create function copy_default(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
begin
  if not exists (
    select from pg_constraint where conrelid = (parent || '_default')::regclass and conname = 'wait_for_partition'
      and pg_get_expr(conbin, conrelid) = 'false'
  ) then
    raise exception 'rows of % do not wait', parent using errcode = 'object_not_in_prerequisite_state';
  end if;
  perform create_like(parent, parent || '_new_month'), create_like(parent, parent || '_new_default');
  execute format('alter table %I add constraint in_month check (%s)', parent || '_new_month', is_in(parent, month));
  execute format('insert into %I select * from %I where %s', parent || '_new_month', parent || '_default', is_in(parent, month));
  execute format('insert into %I select * from %I where not (%s)', parent || '_new_default', parent || '_default', is_in(parent, month));
end $$`,
  `create function use_copy(parent text, month date) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  name text := parent || to_char(month, '_YYYY_MM');
begin
  execute format('alter table %I detach partition %I', parent, parent || '_default');
  execute format('drop table %I', parent || '_default');
  execute format('alter table %I rename to %I', parent || '_new_default', parent || '_default');
  execute format('alter table %I rename to %I', parent || '_new_month', name);
  perform attach_guarded(parent, name, bounds_of(month));
  execute format('alter table %I drop constraint in_month', name);
  perform attach_guarded(parent, parent || '_default', 'default');
end $$`,
  // The shortest retention is a month: who may not become the owner cannot take away what every retention keeps. A month that is
  // years ahead goes by when its last row was received.
  `create function detach_month(parent text, name text) returns void
  language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  month date := to_date(right(name, 7), 'YYYY_MM');
  is_over boolean := month + interval '2 months' <= now() or pg_has_role(session_user, current_user, 'member');
begin
  if not is_over and month >= date_trunc('month', now()) + interval '1 year' then
    execute format('select max(received_at) < now() - interval ''1 month'' from %I', name) into is_over;
  end if;
  if is_over is not true then
    raise exception 'drop of % is refused: every retention keeps this month', name using errcode = 'insufficient_privilege';
  end if;
  execute format('alter table %I detach partition %I', parent, name);
  execute format('alter table %I rename to %I', name, name || '_detached');
end $$`,
  `create function drop_detached(name text) returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  execute format('drop table if exists %I', regexp_replace(name, '_detached$', '') || '_detached');
end $$`,
  // The owner may not lock the table, whose rows stay as they are, but gets the same lock by this change, which changes nothing.
  `create function stop_storing() returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  alter table only deliveries enable always trigger store_in_order;
end $$`,
  // What an erasure changes, and the statistics of which have values of the rows.
  `create function renew_statistics() returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  analyze audit_events, location_observations, log_entries, alerts_received, other_events, quarantine, operator_log,
    saved_searches, devices, locations, people, seen, seen_days;
end $$`,
  // The state of a session is visible only with the rights of its role, which are also needed to end it.
  `create function end_slow_readers(limit_seconds int)
  returns table (pid int, role name, address text, application text, seconds int)
  language sql security definer set search_path = public, pg_temp as $$
  with slow as materialized (
    select pid, usename, host(client_addr), application_name, extract(epoch from clock_timestamp() - xact_start)::int
      from pg_stat_activity
      where (usename = 'xiq_reader' or starts_with(usename, 'xiq_reader_')) and datname = current_database()
        and clock_timestamp() - xact_start > make_interval(secs => limit_seconds) and pg_has_role(usesysid, 'usage')
  )
  select * from slow where pg_terminate_backend(pid) $$`,
];

/** Called with the rights of who calls them, by the functions of the owner. */
const HELPERS = [
  'create_like(text, text)',
  'attach_guarded(text, text, text)',
  'bounds_of(date)',
  'is_in(text, date)',
];

const OF_THE_OWNER = [
  'lock_tables(text[])',
  'create_month(text, date)',
  'let_rows_in(text)',
  'let_rows_wait(text, date)',
  'check_waiting(text)',
  'copy_default(text, date)',
  'use_copy(text, date)',
  'detach_month(text, text)',
  'drop_detached(text)',
  'stop_storing()',
  'renew_statistics()',
  'end_slow_readers(int)',
];

/**
 * The tree only grows. The service adds leaves and signatures, and may not change those that it has added: else whoever has
 * its password could make history anew. The owner may, for erasures.
 */
const GROWS = [
  `create function only_grows() returns trigger language plpgsql as $$
begin
  if not pg_has_role((select relowner from pg_class where oid = tg_relid), 'usage') then
    raise exception '% on % is refused: what is sealed stays as it is', lower(tg_op), tg_table_name
      using errcode = 'insufficient_privilege';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$`,
  ...Object.entries({
    log_hashes: `row(new.level, new.number, substring(new.hashes from 1 for length(old.hashes)))
    is distinct from row(old.level, old.number, old.hashes)`,
    log_salts: `row(new.number, new.salts[1:cardinality(old.salts)]) is distinct from row(old.number, old.salts)`,
    log_seals: `row(new.first_leaf, new.kind, new.version, new.first_position, greatest(new.leaves, old.leaves))
    is distinct from row(old.first_leaf, old.kind, old.version, old.first_position, new.leaves)`,
    log_checkpoints: `row(new.size, new.made_at, new.public_key, left(new.note, length(old.note)))
    is distinct from row(old.size, old.made_at, old.public_key, old.note)`,
    log_seal_state: `new.size < old.size or new.next_position < old.next_position`,
  }).flatMap(([table, shrinks]) => [
    `create trigger only_grows before update on ${table} for each row when (${shrinks}) execute function only_grows()`,
    `create trigger never_shrinks before delete on ${table} for each row execute function only_grows()`,
    ...['only_grows', 'never_shrinks'].map((name) => `alter table ${table} enable always trigger ${name}`),
  ]),
];

export const statements = [
  ...STEPS,
  ...[...HELPERS, ...OF_THE_OWNER].map((one) => `revoke execute on function ${one} from public`),
  ...GROWS,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
