import { sql } from 'kysely';
import { NotFoundError } from '../errors.ts';
import type { Db } from './database.ts';
import type { Holder } from './sessions.ts';

/** A new API token of an account. */
export interface NewAccessToken {
  readonly account: string;
  readonly digest: Buffer;
  readonly label: string;
  readonly expiresAt: Date;
}

/** Adds an API token. Resolves with its id. Throws NotFoundError if the account does not exist or is disabled. */
export async function addAccessToken(db: Db, token: NewAccessToken): Promise<string> {
  const { account, digest, label, expiresAt } = token;
  const added = await db
    .insertInto('access_tokens')
    .columns(['account', 'digest', 'label', 'expires_at'])
    .expression((from) =>
      from
        .selectFrom('accounts')
        .select([
          'name',
          sql<Buffer>`${digest}::bytea`.as('digest'),
          sql<string>`${label}::text`.as('label'),
          sql<Date>`${expiresAt}::timestamptz`.as('expires_at'),
        ])
        .where(sql<boolean>`lower(name) = lower(${account})`)
        .where('disabled_at', 'is', null)
        .forShare(),
    )
    .returning('id')
    .executeTakeFirst();
  if (added !== undefined) return added.id;
  const message = `there is no account "${account}", or it is disabled; xiq-sink access list shows all`;
  throw new NotFoundError('UNKNOWN_ACCOUNT', message);
}

/** The account of an API token. Undefined if the token is unknown, expired or revoked, or its account is disabled. */
export async function findTokenHolder(db: Db, digest: Buffer): Promise<Holder | undefined> {
  const found = await db
    .selectFrom('access_tokens')
    .innerJoin('accounts', 'accounts.name', 'access_tokens.account')
    .select(['id', 'accounts.name', 'accounts.role', 'accounts.sources'])
    .select(sql<boolean>`last_used_at > now() - interval '1 minute'`.as('was_used'))
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .where('revoked_at', 'is', null)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const { id, was_used: wasUsed, ...holder } = found;
  if (!wasUsed) {
    await db
      .updateTable('access_tokens')
      .set({ last_used_at: sql<Date>`now()` })
      .where('id', '=', id)
      .execute();
  }
  return holder;
}

/** The API tokens that are not revoked, by account and age. */
export async function listAccessTokens(db: Db) {
  return db
    .selectFrom('access_tokens')
    .select(['id', 'account', 'label', 'created_at', 'expires_at', 'last_used_at'])
    .where('revoked_at', 'is', null)
    .orderBy(sql`lower(account)`)
    .orderBy('id')
    .execute();
}

/** Revokes an API token. Resolves with its account and label. Throws NotFoundError if there is none with this id. */
export async function revokeAccessToken(db: Db, id: string) {
  const revoked = await db
    .updateTable('access_tokens')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(['account', 'label'])
    .executeTakeFirst();
  if (revoked !== undefined) return revoked;
  const message = `there is no API token ${id}, or it is revoked; xiq-sink access list shows all`;
  throw new NotFoundError('UNKNOWN_TOKEN', message);
}
