-- What the service may do with the logins that may only read, as functions of the superuser that creates the roles: a role may
-- change its own password and settings, and only a role that creates roles can put that right. They make readers, and nothing
-- else. Created by create-roles.ts.

create schema if not exists xiq_roles;

-- A session may change those except `temp_file_limit`, so the service also ends sessions that take too long. No time limit
-- ends the compiler of expressions (JIT).
create or replace function xiq_roles.reader_settings() returns text[] language sql immutable as $$
  select array['default_transaction_read_only=on', 'statement_timeout=5min', 'idle_in_transaction_session_timeout=1min',
    'idle_session_timeout=30min', 'temp_file_limit=1GB', 'jit=off'] $$;

create or replace function xiq_roles.reader_connections(login text) returns int language sql immutable as $$
  select case login when 'xiq_reader' then 10 else 3 end $$;

-- The logins that may only read, and what of each is not as it must be
create or replace function xiq_roles.reader_changes() returns table (login text, changes text[])
language sql stable set search_path = pg_catalog, xiq_roles, pg_temp as $$
  with readers as (
    select rolname::text as login, pg_roles.* from pg_roles where rolname = 'xiq_reader' or starts_with(rolname, 'xiq_reader_')
  ), settings as (
    select setrole, setdatabase, setting from pg_db_role_setting, unnest(setconfig) as setting
      where setdatabase in (0, (select oid from pg_database where datname = current_database()))
  ), found as (
    select login, 'it lacks ' || expected as change from readers, unnest(reader_settings()) as expected
      where not exists (select from settings where setrole = readers.oid and setdatabase = 0 and setting = expected)
    union all
    select login, 'it has ' || setting from readers join settings on setrole = readers.oid
      where setdatabase <> 0 or setting <> all(reader_settings())
    union all
    select login, 'it is a member of ' || roleid::regrole from readers join pg_auth_members on member = readers.oid
      where login = 'xiq_reader' or roleid <> 'xiq_reader'::regrole
    union all
    select login, 'it may do more than read'
      from readers where rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
    union all
    select login, format('it may have %s connections', rolconnlimit) from readers
      where rolconnlimit <> reader_connections(login)
    union all
    select login, 'it cannot log in' from readers where not rolcanlogin
  )
  select login, array_agg(change order by change) from found group by login order by login
$$;

-- Makes a login that may only read, or puts it right. Without a password, it keeps the one that it has
create or replace function xiq_roles.keep_reader(login text, new_password text) returns void
language plpgsql security definer set search_path = pg_catalog, xiq_roles, pg_temp as $$
declare
  statement text;
begin
  if login !~ '^xiq_reader(_.+)?$' or exists (select from pg_roles where rolname = login and rolsuper) then
    raise exception '% is no login of a reader', login using errcode = 'insufficient_privilege';
  end if;
  if not exists (select from pg_roles where rolname = login) then
    execute format('create role %I', login);
  end if;
  execute format('alter role %I login nosuperuser nocreaterole nocreatedb noreplication nobypassrls connection limit %s',
    login, reader_connections(login));
  if new_password is not null then
    execute format('alter role %I password %L', login, new_password);
  end if;
  for statement in
    select format('alter role %I reset all', login)
    union all select format('alter role %I in database %I reset all', login, current_database())
    union all select format('alter role %I set %I = %L', login, split_part(setting, '=', 1), split_part(setting, '=', 2))
      from unnest(reader_settings()) as setting
    union all select format('revoke %s from %I', roleid::regrole, login) from pg_auth_members
      where member = quote_ident(login)::regrole and (login = 'xiq_reader' or roleid <> 'xiq_reader'::regrole)
  loop
    execute statement;
  end loop;
  if login <> 'xiq_reader' then
    execute format('grant xiq_reader to %I', login);
  end if;
  -- With the rights of the reader, the owner can end its sessions.
  execute format('grant %I to xiq_owner', login);
end $$;

-- Ends the sessions of a person's login and removes it
create or replace function xiq_roles.drop_reader(login text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not starts_with(login, 'xiq_reader_') then
    raise exception '% is not the login of a person', login using errcode = 'insufficient_privilege';
  end if;
  perform pg_terminate_backend(pid) from pg_stat_activity where usename = login;
  execute format('drop owned by %I', login);
  execute format('drop role %I', login);
end $$;

revoke all on all functions in schema xiq_roles from public;
