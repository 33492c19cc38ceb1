import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  addAccessToken,
  findTokenHolder,
  listAccessTokens,
  revokeAccessToken,
} from '../../../src/store/access/access-tokens.ts';
import { addAccount, disableAccount } from '../../../src/store/access/accounts.ts';
import {
  endSession,
  findSession,
  isAdminSession,
  startAdminSession,
  startSession,
} from '../../../src/store/access/sessions.ts';
import { whileHeld } from '../../support/row-lock.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await test.query`truncate accounts, access_tokens, sessions`;
  for (const name of ['ada', 'bob'])
    await addAccount(test.service, { name, role: 'viewer', password_hash: 'hash' });
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

  it('is of its account, or of the admin token, until it ends or has expired', async () => {
    expect(await start()).toBe(true);
    await startAdminSession(test.service, TWO);
    const found = async () => [
      await findSession(test.service, ONE),
      await isAdminSession(test.service, ONE),
      await findSession(test.service, TWO),
      await isAdminSession(test.service, TWO),
    ];
    expect(await found()).toEqual([{ name: 'ada', role: 'viewer', sources: null }, false, undefined, true]);
    const ends = await test.query`
      select distinct round(extract(epoch from expires_at - now()) / 3600)::int as hours from sessions`;
    expect(ends).toEqual([{ hours: 12 }]);
    await endSession(test.service, TWO);
    expect(await isAdminSession(test.service, TWO)).toBe(false);
    await test.query`update accounts set disabled_at = now() where name = 'ada'`;
    expect(await findSession(test.service, ONE)).toBeUndefined();
    await test.query`update accounts set disabled_at = null`;
    await test.query`update sessions set expires_at = now()`;
    expect(await findSession(test.service, ONE)).toBeUndefined();
    // What has expired goes with the next login.
    expect(
      await startSession(test.service, TWO, { name: 'bob', password_hash: 'hash', totp_secret: null }),
    ).toBe(true);
    expect(await test.query`select account from sessions`).toEqual([{ account: 'bob' }]);
  });

  it('does not begin while the password changes: it waits, and the old one does not count any more', async () => {
    const holding = sql`update accounts set password_hash = 'new' where name = 'ada'`;
    expect(await whileHeld(test.db, holding, () => start())).toBe(false);
  });
});

it('an API token is of its account until it expires or is revoked, once, with the account or alone', async () => {
  const add = (account = 'Ada', digest = ONE) =>
    addAccessToken(test.service, { account, digest, label: 'test', expires_at: new Date('2999-01-01') });
  const id = await add();
  const usedAt = async () => (await listAccessTokens(test.service))[0]?.last_used_at;
  const use = () => findTokenHolder(test.service, ONE);
  expect(await usedAt()).toBeNull();
  expect(await use()).toEqual({ name: 'ada', role: 'viewer', sources: null });
  // Its use is noted once a minute.
  for (const [seconds, isNoted] of [[50, false] as const, [70, true] as const]) {
    const before = new Date(Date.now() - seconds * 1_000);
    await test.query`update access_tokens set last_used_at = ${before}`;
    expect(await use()).toBeDefined();
    expect((await usedAt())?.getTime() !== before.getTime()).toBe(isNoted);
  }
  const other = await add('bob', TWO);
  expect(await findTokenHolder(test.service, TWO)).toMatchObject({ name: 'bob' });
  await disableAccount(test.service, 'bob');
  expect(await findTokenHolder(test.service, TWO)).toBeUndefined();
  expect((await listAccessTokens(test.service)).map((token) => token.id)).toEqual([id]);
  await expect(revokeAccessToken(test.service, other)).rejects.toThrow(`API token ${other} does not exist`);
  await test.query`update access_tokens set expires_at = now() where id = ${id}`;
  expect(await use()).toBeUndefined();
  await test.query`update access_tokens set expires_at = '2999-01-01' where id = ${id}`;
  expect(await revokeAccessToken(test.service, id)).toEqual({ account: 'ada', label: 'test' });
  expect(await use()).toBeUndefined();
  expect(await listAccessTokens(test.service)).toEqual([]);
  await expect(add('bob')).rejects.toThrow('account "bob" does not exist or is disabled');
});
