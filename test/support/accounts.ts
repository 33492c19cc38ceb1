import { digestOf, newApiToken } from '../../src/console/access/credentials.ts';
import { addAccessToken } from '../../src/store/access-tokens.ts';
import { addAccount } from '../../src/store/accounts.ts';
import type { NewAccount } from '../../src/store/accounts.ts';
import type { Db } from '../../src/store/database.ts';

const HOUR_MS = 3_600_000;

/** Creates an API token of an account. */
export async function tokenOf(
  db: Db,
  account: string,
  expiresAt = new Date(Date.now() + HOUR_MS),
): Promise<string> {
  const token = newApiToken();
  await addAccessToken(db, { account, digest: digestOf(token), label: 'test', expiresAt });
  return token;
}

/** Adds an account without a password. Resolves with an API token of it. */
export async function addWithToken(db: Db, account: NewAccount): Promise<string> {
  await addAccount(db, account);
  return tokenOf(db, account.name);
}
