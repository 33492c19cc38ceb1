import { sql, type Selectable } from 'kysely';
import { NotFoundError } from '../../lib/errors.ts';
import { isNamed } from './accounts.ts';
import type { Db } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';
import type { Holder } from './sessions.ts';
import { commandName } from '../../lib/text/command-name.ts';

/** Adds an API token. Resolves with its id. Throws NotFoundError if the account does not exist or is disabled. */
export async function addAccessToken(
  db: Db,
  token: Pick<Selectable<Tables['access_tokens']>, 'account' | 'digest' | 'label' | 'expires_at'>,
): Promise<string> {
  const { account, digest, label, expires_at } = token;
  const added = await db
    .insertInto('access_tokens')
    .columns(['account', 'digest', 'label', 'expires_at'])
    .expression((insert) =>
      insert
        .selectFrom('accounts')
        .select(['name', insert.val(digest).as('digest'), insert.val(label).as('label')])
        .select(insert.val(expires_at).as('expires_at'))
        .where(isNamed(account))
        .where('disabled_at', 'is', null)
        .forShare(),
    )
    .returning('id')
    .executeTakeFirst();
  if (added !== undefined) return added.id;
  const message = `the account "${account}" does not exist or is disabled; ${commandName()} access list shows all accounts`;
  throw new NotFoundError('UNKNOWN_ACCOUNT', message);
}

/** The account of an API token. Undefined if the token is unknown, expired or revoked, or its account is disabled. */
export async function findTokenHolder(db: Db, digest: Buffer): Promise<Holder | undefined> {
  const found = await db
    .selectFrom('access_tokens')
    .innerJoin('accounts', 'accounts.name', 'account')
    .select(['id', 'accounts.name', 'role', 'sources'])
    .select(sql<boolean | null>`last_used_at > now() - interval '1 minute'`.as('wasUsed'))
    .where('digest', '=', digest)
    .where('expires_at', '>', sql<Date>`now()`)
    .where('revoked_at', 'is', null)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const { id, wasUsed, ...holder } = found;
  if (wasUsed !== true)
    await db
      .updateTable('access_tokens')
      .set({ last_used_at: sql`now()` })
      .where('id', '=', id)
      .execute();
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
    .set({ revoked_at: sql`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(['account', 'label'])
    .executeTakeFirst();
  if (revoked !== undefined) return revoked;
  const message = `the API token ${id} does not exist or is revoked; ${commandName()} access list shows all tokens`;
  throw new NotFoundError('UNKNOWN_TOKEN', message);
}
