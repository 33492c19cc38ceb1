import { sql } from 'kysely';
import type { Account } from './accounts.ts';
import type { Db } from './database.ts';

/** A working day; after that, a new log-in is required. */
export const SESSION_HOURS = 12;

/** An account as the holder of a session or a token, or undefined for the admin token. */
export type Holder = Pick<Account, 'name' | 'role' | 'sources'>;

const END = sql<Date>`now() + make_interval(hours => ${SESSION_HOURS})`;

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
  const started = await db
    .insertInto('sessions')
    .columns(['digest', 'account', 'expires_at'])
    .expression((from) =>
      from
        .selectFrom('accounts')
        .select([sql<Buffer>`${digest}::bytea`.as('digest'), 'name', END.as('expires_at')])
        .where('name', '=', name)
        .where('disabled_at', 'is', null)
        .where('password_hash', 'is not distinct from', hash)
        // Waits for a change in progress, which ends the sessions that it sees.
        .forShare(),
    )
    .executeTakeFirst();
  return started.numInsertedOrUpdatedRows === 1n;
}

/** Starts a session of the admin token. */
export async function startAdminSession(db: Db, digest: Buffer): Promise<void> {
  await removeExpired(db);
  await db.insertInto('sessions').values({ digest, account: null, expires_at: END }).execute();
}

const removeExpired = (db: Db) =>
  db
    .deleteFrom('sessions')
    .where('expires_at', '<=', sql<Date>`now()`)
    .execute();

/** The account of a session. Undefined if the session has ended, or its account is disabled. */
export async function findSession(db: Db, digest: Buffer): Promise<Holder | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.name', 'sessions.account')
    .select(['accounts.name', 'accounts.role', 'accounts.sources'])
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
}

/** Whether this is a session of the admin token that has not ended. */
export async function isAdminSession(db: Db, digest: Buffer): Promise<boolean> {
  const found = await db
    .selectFrom('sessions')
    .select('digest')
    .where('digest', '=', digest)
    .where('account', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return found !== undefined;
}

/** Ends a session in every process. */
export async function endSession(db: Db, digest: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('digest', '=', digest).execute();
}
