import { sql, type Insertable, type Selectable } from 'kysely';
import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { AccountRole } from './permissions.ts';
import type { Db, Trx } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';
import { isMissingTable } from '../server/statement.ts';
import { commandName } from '../../lib/text/command-name.ts';

export type Account = Readonly<Selectable<Tables['accounts']>>;

/** Letters that show, no spaces: no account can be called "admin token" or "local user". */
const ACCOUNT_NAME = /^[^\p{C}\p{Z}]{1,100}$/u;

/** The name under which the operator log records what the service does by itself. */
const OWN_NAME = 'xiq-sink';

export const isAccountName = (name: string): boolean =>
  ACCOUNT_NAME.test(name) && name.normalize('NFKC') === name && name.toLowerCase() !== OWN_NAME;

/** `sources` undefined: all. `identity`: issuer and subject of OpenID Connect, separated by a space. */
export type NewAccount = Omit<Insertable<Tables['accounts']>, 'sources'> & {
  readonly sources?: readonly string[] | undefined;
};

/** A link with which a person sets their own password, once: the digest of the key in it, and until when. */
export type Invitation = { readonly invitation: Buffer; readonly invited_until: Date };

/** Adds an account. Throws ConflictError if one with this name exists, disabled or not; upper and lower case are the same. */
export async function addAccount(db: Db, account: NewAccount): Promise<void> {
  const { numInsertedOrUpdatedRows: added } = await db
    .insertInto('accounts')
    .values({ ...account, sources: account.sources && [...account.sources] })
    .onConflict((exists) => exists.doNothing())
    .executeTakeFirst();
  if (added === 1n) return;
  const message = `the name "${account.name}" is or was already used by an account`;
  throw new ConflictError('ACCOUNT_EXISTS', message);
}

/** The account with this name, in upper or lower case, also if it is disabled. */
export async function findAccount(db: Db, name: string): Promise<Account | undefined> {
  // Text with NUL is no value for Postgres.
  if (!isAccountName(name)) return undefined;
  return db.selectFrom('accounts').selectAll().where(isNamed(name)).executeTakeFirst();
}

/** The account of a person of OpenID Connect, also if it is disabled. `identity`: issuer and subject, separated by a space. */
export async function findIdentity(db: Db, identity: string): Promise<Account | undefined> {
  return db.selectFrom('accounts').selectAll().where('identity', '=', identity).executeTakeFirst();
}

/** Whether an account has this name, in upper or lower case. */
export const isNamed = (name: string) => sql<boolean>`lower(name) = lower(${name})`;

/** All accounts by name, without secrets. */
export async function listAccounts(db: Db) {
  return db
    .selectFrom('accounts')
    .select((row) => [
      'name',
      'role',
      'sources',
      'created_at',
      'disabled_at',
      'invited_until',
      row('password_hash', 'is not', null).as('has_password'),
      row('totp_secret', 'is not', null).as('has_totp'),
      row('identity', 'is not', null).as('is_openid'),
    ])
    .orderBy(sql`lower(name)`)
    .execute();
}

/** How the person of an account logs in. */
export function logInOf(account: Awaited<ReturnType<typeof listAccounts>>[number]) {
  if (account.is_openid) return 'OpenID Connect';
  if (account.invited_until !== null) return account.has_totp ? 'invited, with a code' : 'invited';
  if (!account.has_password) return 'API tokens only';
  return account.has_totp ? 'password and code' : 'password';
}

/** Whether there is any account, disabled or not. */
export async function hasAccounts(db: Db): Promise<boolean> {
  try {
    return (await db.selectFrom('accounts').select('name').limit(1).execute()).length > 0;
  } catch (error) {
    if (isMissingTable(error)) return false;
    throw error;
  }
}

/** What to change of an account; a member that is absent stays. */
export interface AccountChanges {
  readonly role?: AccountRole | undefined;
  /** Null: all. */
  readonly sources?: readonly string[] | null | undefined;
  /** Ends an invitation. Null: none. */
  readonly passwordHash?: string | null | undefined;
  /** Null: none. */
  readonly totpSecret?: string | null | undefined;
  readonly isEnabled?: boolean | undefined;
  readonly invitation?: Invitation | undefined;
}

/** Changes an account and ends its sessions. Throws NotFoundError if there is none with this name. */
export async function changeAccount(db: Db, name: string, changes: AccountChanges): Promise<void> {
  const { role, sources, passwordHash, totpSecret, isEnabled, invitation } = changes;
  await db.transaction().execute(async (trx) => {
    const changed = await trx
      .updateTable('accounts')
      .set({
        ...(role !== undefined && { role }),
        ...(sources !== undefined && { sources: sources === null ? null : [...sources] }),
        ...(passwordHash !== undefined && { password_hash: passwordHash, ...NOT_INVITED }),
        ...invitation,
        ...(totpSecret !== undefined && { totp_secret: totpSecret, totp_last_step: null }),
        ...(isEnabled === true && { disabled_at: null }),
        // Always sets something: a change ends the sessions, whatever it changes.
        name: sql<string>`name`,
      })
      .where(isNamed(name))
      .returning('name')
      .executeTakeFirst();
    if (changed === undefined) throw unknownAccount(name);
    await endSessions(trx, changed.name);
  });
}

const NOT_INVITED = { invitation: null, invited_until: null };

/** The account whose invitation has this digest. Undefined if it was used, replaced, or has ended, or the account is disabled. */
export const findInvited = (db: Db, digest: Buffer): Promise<Account | undefined> =>
  db.selectFrom('accounts').selectAll().where(isInvited(digest)).executeTakeFirst();

/** Sets the password of an invited person, and ends the invitation. Undefined if it has ended before. */
export const acceptInvitation = (
  db: Db,
  digest: Buffer,
  { passwordHash, totpStep }: { readonly passwordHash: string; readonly totpStep: number | undefined },
): Promise<Account | undefined> =>
  db
    .updateTable('accounts')
    .set({ password_hash: passwordHash, totp_last_step: totpStep ?? null, ...NOT_INVITED })
    .where(isInvited(digest))
    .returningAll()
    .executeTakeFirst();

const isInvited = (digest: Buffer) =>
  sql<boolean>`invitation = ${digest} and invited_until > now() and disabled_at is null`;

/**
 * Disables an account for good or until it is enabled again: ends its sessions and revokes its API tokens. The row
 * stays, so that nobody else gets a name that the operator log contains. Throws NotFoundError if there is none.
 */
export async function disableAccount(db: Db, name: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const disabled = await trx
      .updateTable('accounts')
      .set({ disabled_at: sql`coalesce(disabled_at, now())`, ...NOT_INVITED })
      .where(isNamed(name))
      .returning('name')
      .executeTakeFirst();
    if (disabled === undefined) throw unknownAccount(name);
    await endSessions(trx, disabled.name);
    await trx
      .updateTable('access_tokens')
      .set({ revoked_at: sql`now()` })
      .where('account', '=', disabled.name)
      .where('revoked_at', 'is', null)
      .execute();
  });
}

const endSessions = (trx: Trx, account: string) =>
  trx.deleteFrom('sessions').where('account', '=', account).execute();

const unknownAccount = (name: string) =>
  new NotFoundError(
    'UNKNOWN_ACCOUNT',
    `there is no account "${name}"; ${commandName()} access list shows all accounts`,
  );

/**
 * Records that the one-time password of this time step was used. False if it, or a later one, was used before: each
 * counts once, also if two logins use it at the same moment.
 */
export async function useTotpStep(db: Db, account: string, step: number): Promise<boolean> {
  const { numUpdatedRows: used } = await db
    .updateTable('accounts')
    .set({ totp_last_step: step })
    .where('name', '=', account)
    .where((is) => is.or([is('totp_last_step', 'is', null), is('totp_last_step', '<', String(step))]))
    .executeTakeFirst();
  return used === 1n;
}
