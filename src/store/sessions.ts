import { sql } from 'kysely';
import type { Account } from './accounts.ts';
import type { Db } from './database.ts';
import { allRows, firstRow, run } from './statement.ts';

/** A working day; after that, a new log-in is required. */
export const SESSION_HOURS = 12;

/** An account as the holder of a session or a token, or undefined for the admin token. */
export type Holder = Pick<Account, 'name' | 'role' | 'sources'>;

const END = sql`now() + make_interval(hours => ${SESSION_HOURS})`;

/**
 * Starts a session of an account. False if the account has been disabled, or its password changed, since it was read.
 * Also removes sessions that have expired.
 */
export async function startSession(
  db: Db,
  digest: Buffer,
  { name, password_hash: hash }: Pick<Account, 'name' | 'password_hash'>,
): Promise<boolean> {
  await removeExpired(db);
  // Waits for a change in progress, which ends the sessions that it sees.
  const started = await run(db)`
    insert into sessions (digest, account, expires_at)
    select ${digest}::bytea, name, ${END} from accounts
    where name = ${name} and disabled_at is null and password_hash is not distinct from ${hash} for share`;
  return started === 1;
}

/** Starts a session of the admin token. */
export async function startAdminSession(db: Db, digest: Buffer): Promise<void> {
  await removeExpired(db);
  await run(db)`insert into sessions (digest, expires_at) values (${digest}, ${END})`;
}

const removeExpired = (db: Db) => run(db)`delete from sessions where expires_at <= now()`;

/** The account of a session. Undefined if the session has ended, or its account is disabled. */
export async function findSession(db: Db, digest: Buffer): Promise<Holder | undefined> {
  return firstRow<Holder>(db)`
    select accounts.name, accounts.role, accounts.sources
    from sessions join accounts on accounts.name = account
    where digest = ${digest} and expires_at > now() and disabled_at is null`;
}

/** Whether this is a session of the admin token that has not ended. */
export async function isAdminSession(db: Db, digest: Buffer): Promise<boolean> {
  const found = await allRows(db)`
    select from sessions where digest = ${digest} and account is null and expires_at > now()`;
  return found.length > 0;
}

/** Ends a session in every process. */
export async function endSession(db: Db, digest: Buffer): Promise<void> {
  await run(db)`delete from sessions where digest = ${digest}`;
}
