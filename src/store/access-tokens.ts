import type { Selectable } from 'kysely';
import { NotFoundError } from '../errors.ts';
import type { Db } from './database.ts';
import type { Holder } from './sessions.ts';
import type { Tables } from './tables.ts';
import { allRows, firstRow, run } from './statement.ts';

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
  const added = await firstRow<{ id: string }>(db)`
    insert into access_tokens (account, digest, label, expires_at)
    select name, ${digest}::bytea, ${label}::text, ${expiresAt}::timestamptz from accounts
    where lower(name) = lower(${account}) and disabled_at is null for share
    returning id`;
  if (added !== undefined) return added.id;
  const message = `there is no account "${account}", or it is disabled; xiq-sink access list shows all`;
  throw new NotFoundError('UNKNOWN_ACCOUNT', message);
}

/** The account of an API token. Undefined if the token is unknown, expired or revoked, or its account is disabled. */
export async function findTokenHolder(db: Db, digest: Buffer): Promise<Holder | undefined> {
  const found = await firstRow<Holder & { readonly id: string; readonly wasUsed: boolean | null }>(db)`
    select id, accounts.name, accounts.role, accounts.sources,
      last_used_at > now() - interval '1 minute' as "wasUsed"
    from access_tokens join accounts on accounts.name = account
    where digest = ${digest} and expires_at > now() and revoked_at is null and disabled_at is null`;
  if (found === undefined) return undefined;
  const { id, wasUsed, ...holder } = found;
  if (wasUsed !== true) await run(db)`update access_tokens set last_used_at = now() where id = ${id}`;
  return holder;
}

/** An API token, without its secret. */
type AccessToken = Pick<
  Selectable<Tables['access_tokens']>,
  'id' | 'account' | 'label' | 'created_at' | 'expires_at' | 'last_used_at'
>;

/** The API tokens that are not revoked, by account and age. */
export async function listAccessTokens(db: Db): Promise<AccessToken[]> {
  return allRows<AccessToken>(db)`
    select id, account, label, created_at, expires_at, last_used_at from access_tokens
    where revoked_at is null order by lower(account), id`;
}

/** Revokes an API token. Resolves with its account and label. Throws NotFoundError if there is none with this id. */
export async function revokeAccessToken(db: Db, id: string) {
  const revoked = await firstRow<Pick<AccessToken, 'account' | 'label'>>(db)`
    update access_tokens set revoked_at = now() where id = ${id} and revoked_at is null returning account, label`;
  if (revoked !== undefined) return revoked;
  const message = `there is no API token ${id}, or it is revoked; xiq-sink access list shows all`;
  throw new NotFoundError('UNKNOWN_TOKEN', message);
}
