import { randomBytes, scryptSync } from 'node:crypto';
import { digestOf, newApiToken } from '../../src/access/credentials.ts';
import { addAccessToken } from '../../src/store/access/access-tokens.ts';
import { addAccount } from '../../src/store/access/accounts.ts';
import type { NewAccount } from '../../src/store/access/accounts.ts';
import type { Db } from '../../src/store/server/database.ts';

const HOUR_MS = 3_600_000;

/** Creates an API token of an account. */
export async function tokenOf(
  db: Db,
  account: string,
  expiresAt = new Date(Date.now() + HOUR_MS),
): Promise<string> {
  const token = newApiToken();
  await addAccessToken(db, { account, digest: digestOf(token), label: 'test', expires_at: expiresAt });
  return token;
}

/** Adds an account without a password. Resolves with an API token of it. */
export async function addWithToken(db: Db, account: NewAccount): Promise<string> {
  await addAccount(db, account);
  return tokenOf(db, account.name);
}

/**
 * A stored password of 1/100 of the cost that the program hashes with, which `test/access/passwords.test.ts`
 * holds: a hash says its own cost.
 */
export function hashCheaply(password: string): string {
  const cost = { N: 1_024, r: 8, p: 1 };
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, cost);
  return ['scrypt', ...Object.values(cost), salt.toString('base64url'), key.toString('base64url')].join('$');
}
