import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  addAccessToken,
  listAccessTokens,
  revokeAccessToken,
} from '../../../src/store/access/access-tokens.ts';
import { addAccount, disableAccount } from '../../../src/store/access/accounts.ts';
import { startSession } from '../../../src/store/access/sessions.ts';
import { whileHeld } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await test.query`truncate accounts, access_tokens, sessions`;
  for (const name of ['ada', 'bob'])
    await addAccount(test.service, { name, role: 'viewer', passwordHash: 'hash' });
});

const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('a session', () => {
  const start = (name = 'ada', password_hash: string | null = 'hash', totp_secret: string | null = null) =>
    startSession(test.service, ONE, { name, password_hash, totp_secret });

  it.each([
    ['another password', () => start('ada', 'old hash')],
    ['no password', () => start('ada', null)],
    ['another key of one-time codes', () => start('ada', 'hash', 'KEY')],
    ['an account that does not exist', () => start('eve')],
  ])('does not begin with %s', async (_with, begin) => {
    expect(await begin()).toBe(false);
    expect(await test.query`select from sessions`).toEqual([]);
  });

  it('does not begin while the password changes: it waits, and the old one does not count any more', async () => {
    const holding = sql`update accounts set password_hash = 'new' where name = 'ada'`;
    expect(await whileHeld(test.db, holding, () => start())).toBe(false);
  });
});

it('an API token is revoked once, with the account or alone, and listed until then', async () => {
  const add = (account = 'Ada', digest = ONE) =>
    addAccessToken(test.service, { account, digest, label: 'test', expiresAt: new Date('2999-01-01') });
  const id = await add();
  const other = await add('bob', TWO);
  await disableAccount(test.service, 'bob');
  expect((await listAccessTokens(test.service)).map((token) => token.id)).toEqual([id]);
  await expect(revokeAccessToken(test.service, other)).rejects.toThrow(`no API token ${other}`);
  expect(await revokeAccessToken(test.service, id)).toEqual({ account: 'ada', label: 'test' });
  expect(await listAccessTokens(test.service)).toEqual([]);
  await expect(add('bob')).rejects.toThrow('no account "bob", or it is disabled');
});
