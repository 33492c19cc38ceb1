import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/**
 * Personal accounts, their sessions and their API tokens. `xiq_reader` gets no privilege on them. Accounts are never
 * deleted, so that a name in the operator log always means the same person.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table accounts (
      name text primary key check (name ~ '^\\S{1,100}$'),
      role text not null check (role in ('viewer', 'auditor', 'operator', 'admin')),
      sources text[] check (cardinality(sources) > 0),
      password_hash text,
      totp_secret text,
      totp_last_step bigint,
      identity text unique,
      created_at timestamptz not null default now(),
      disabled_at timestamptz
    )`.execute(db);
  // Two names that differ in case alone would look like one person.
  await sql`create unique index accounts_name_lower on accounts (lower(name))`.execute(db);

  await sql`
    create table sessions (
      digest bytea primary key check (octet_length(digest) = 32),
      account text references accounts,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`.execute(db);
  await sql`create index sessions_account on sessions (account)`.execute(db);
  await sql`create index sessions_expires_at on sessions (expires_at)`.execute(db);

  await sql`
    create table access_tokens (
      id bigint generated always as identity primary key,
      account text not null references accounts,
      digest bytea not null unique check (octet_length(digest) = 32),
      label text not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      last_used_at timestamptz,
      revoked_at timestamptz
    )`.execute(db);
  await sql`create index access_tokens_account on access_tokens (account)`.execute(db);

  const comments = {
    'table accounts': 'People who may use the console and the API',
    'column accounts.sources': 'The sources that the person may see; null: all',
    'column accounts.password_hash': 'scrypt; null: no log-in with a password',
    'column accounts.totp_secret': 'Base32 secret of one-time passwords; null: none required',
    'column accounts.totp_last_step':
      'Time step of the last accepted one-time password, which counts only once',
    'column accounts.identity': 'Issuer and subject of OpenID Connect; null for accounts of the command line',
    'table sessions': 'Log-ins to the console; deleted at log-out',
    'column sessions.digest': 'Digest of the cookie, which only the browser has',
    'column sessions.account': 'Null for a log-in with the admin token',
    'table access_tokens': 'API tokens of accounts, each with an end',
    'column access_tokens.digest': 'SHA-256 of the token, which only its owner has',
    'column access_tokens.last_used_at': 'To the minute',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
  await sql`revoke all on accounts, sessions, access_tokens from public, xiq_reader`.execute(db);
  await sql`
    comment on column operator_log.operator is
      'Who: the account, "admin token", "local user", user and host of the command line, or xiq-sink itself'`.execute(
    db,
  );
}
