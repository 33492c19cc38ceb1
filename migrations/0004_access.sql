-- Who may use console and API, and the record of who did what.

-- An action is recorded when it begins, and ended once.
-- What people have done by console, API or command line
create table operator_log (
  id bigint generated always as identity primary key, began_at timestamptz not null default now(),
  operator text not null, -- Who: the account, "admin token", "local user", user and host of the command line, or xiq-sink itself
  via text not null check (via in ('console', 'api', 'command', 'system')), action text not null,
  subject text, -- What it was done to: a destination, an id, a source
  details jsonb not null default '{}', ended_at timestamptz,
  outcome text check (outcome in ('done', 'failed')), -- done or failed; null while it goes on, or for ever when its process was killed
  result jsonb, check ((ended_at is null) = (outcome is null))
);

create function end_once() returns trigger language plpgsql as $$
declare
  stack text;
begin
  get diagnostics stack = pg_context;
  if stack ~ '(?n)^PL/pgSQL function erase_rows[(]' or old.outcome is null and new.outcome is not null
    and (new.id, new.began_at, new.operator, new.via, new.action, new.subject, new.details)
      is not distinct from
        (old.id, old.began_at, old.operator, old.via, old.action, old.subject, old.details)
  then
    return new;
  end if;
  raise exception 'update on operator_log is refused: what is stored stays as it was written'
    using errcode = 'insufficient_privilege', hint = 'An action is ended once.';
end $$;
create trigger end_once before update on operator_log for each row execute function end_once();
create trigger refuse_change before delete on operator_log for each row execute function refuse_change();
create trigger queue_statement_insert after insert on operator_log referencing new table as changed
  for each statement execute function queue_statement('operation', 'id');
create trigger queue_statement_update after update on operator_log referencing new table as changed
  for each statement execute function queue_statement('operation', 'id');
select guard_table('operator_log');
grant update (ended_at, outcome, result) on operator_log to current_user;

-- Personal accounts, their sessions and their API tokens. `xiq_reader` gets no privilege on them. Accounts are never
-- deleted, so that a name in the operator log always means the same person.
-- People who may use the console and the API
create table accounts (
  name text primary key check (name ~ '^\S{1,100}$'),
  role text not null check (role in ('viewer', 'auditor', 'operator', 'admin')),
  sources text[] check (cardinality(sources) > 0), -- The sources that the person may see; null: all
  password_hash text, -- scrypt; null: no login with a password
  totp_secret text, -- Base32 secret of one-time passwords; null: none required
  totp_last_step bigint, -- Time step of the last accepted one-time password, which counts only once
  identity text unique, -- Issuer and subject of OpenID Connect; null for accounts of the command line
  created_at timestamptz not null default now(), disabled_at timestamptz
);
-- Two names that differ in case alone would look like one person.
create unique index accounts_name_lower on accounts (lower(name));

-- Sessions of the console; deleted at logout
create table sessions (
  digest bytea primary key check (octet_length(digest) = 32), -- Digest of the cookie, which only the browser has
  account text references accounts, -- Null for a login with the admin token
  created_at timestamptz not null default now(), expires_at timestamptz not null
);
create index sessions_account on sessions (account);
create index sessions_expires_at on sessions (expires_at);

-- API tokens of accounts, each with an end
create table access_tokens (
  id bigint generated always as identity primary key, account text not null references accounts,
  digest bytea not null unique check (octet_length(digest) = 32), -- SHA-256 of the token, which only its owner has
  label text not null, created_at timestamptz not null default now(), expires_at timestamptz not null,
  last_used_at timestamptz, -- To the minute
  revoked_at timestamptz
);
create index access_tokens_account on access_tokens (account);
revoke all on accounts, sessions, access_tokens from public, xiq_reader;
