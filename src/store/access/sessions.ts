import { sql } from 'kysely';
import type { Account } from './accounts.ts';
import type { Db } from '../server/database.ts';

/** A working day; after that, a new login is required. */
export const SESSION_HOURS = 12;

/** An account as the holder of a session or a token, or undefined for the admin token. */
export type Holder = Pick<Account, 'name' | 'role' | 'sources'>;

const NOW = sql<Date>`now()`;

const END = sql<Date>`now() + make_interval(hours => ${SESSION_HOURS})`;

/**
 * Starts a session of an account. False if the account has been disabled, or its password or the key of its one-time codes
 * changed, since it was read. Also removes sessions that have expired.
 */
export async function startSession(
  db: Db,
  digest: Buffer,
  { name, password_hash: hash, totp_secret: totp }: Pick<Account, 'name' | 'password_hash' | 'totp_secret'>,
): Promise<boolean> {
  await removeExpired(db);
  // Waits for a change in progress, which ends the sessions that it sees.
  const { numInsertedOrUpdatedRows: started } = await db
    .insertInto('sessions')
    .columns(['digest', 'account', 'expires_at'])
    .expression((insert) =>
      insert
        .selectFrom('accounts')
        .select([insert.val(digest).as('digest'), 'name', END.as('expires_at')])
        .where('name', '=', name)
        .where('disabled_at', 'is', null)
        .where('password_hash', 'is not distinct from', hash)
        .where('totp_secret', 'is not distinct from', totp)
        .forShare(),
    )
    .executeTakeFirst();
  return started === 1n;
}

export async function startAdminSession(db: Db, digest: Buffer): Promise<void> {
  await removeExpired(db);
  await db.insertInto('sessions').values({ digest, expires_at: END }).execute();
}

const removeExpired = (db: Db) => db.deleteFrom('sessions').where('expires_at', '<=', NOW).execute();

/** The account of a session. Undefined if the session has ended, or its account is disabled. */
export async function findSession(db: Db, digest: Buffer): Promise<Holder | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.name', 'account')
    .select(['name', 'role', 'sources'])
    .where('digest', '=', digest)
    .where('expires_at', '>', NOW)
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
    .where('expires_at', '>', NOW)
    .executeTakeFirst();
  return found !== undefined;
}

export async function endSession(db: Db, digest: Buffer): Promise<void> {
  await db.deleteFrom('sessions').where('digest', '=', digest).execute();
}
