import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { addAccount } from '../../../src/store/access/accounts.ts';
import { findSession, isAdminSession, startSession } from '../../../src/store/access/sessions.ts';
import { whileHeld } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await test.query`truncate accounts, access_tokens, sessions`;
  await addAccount(test.service, { name: 'ada', role: 'viewer', password_hash: 'hash' });
});

const DIGEST = Buffer.alloc(32, 1);

const start = (name = 'ada', password_hash: string | null = 'hash', totp_secret: string | null = null) =>
  startSession(test.service, DIGEST, { name, password_hash, totp_secret });

it.each([
  ['another password', () => start('ada', 'old hash')],
  ['no password', () => start('ada', null)],
  ['another key of one-time codes', () => start('ada', 'hash', 'KEY')],
  ['an account that does not exist', () => start('eve')],
])('a session does not begin with %s', async (_with, begin) => {
  expect(await begin()).toBe(false);
  expect(await test.query`select from sessions`).toEqual([]);
});

it('a session is of its account, not of the admin token, while the account is not disabled', async () => {
  await start();
  expect(await findSession(test.service, DIGEST)).toMatchObject({ name: 'ada', role: 'viewer' });
  expect(await isAdminSession(test.service, DIGEST)).toBe(false);
  await test.query`update accounts set disabled_at = now()`;
  expect(await findSession(test.service, DIGEST)).toBeUndefined();
});

it('a session does not begin while the password changes: it waits, and the old one does not count any more', async () => {
  const holding = sql`update accounts set password_hash = 'new' where name = 'ada'`;
  expect(await whileHeld(test.db, holding, () => start())).toBe(false);
});
