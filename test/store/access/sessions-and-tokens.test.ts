import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  addAccessToken,
  findTokenHolder,
  listAccessTokens,
  revokeAccessToken,
} from '../../../src/store/access/access-tokens.ts';
import { addAccount, changeAccount, disableAccount } from '../../../src/store/access/accounts.ts';
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
    await addAccount(test.service, { name, role: 'viewer', passwordHash: 'hash' });
});

const ADA = { name: 'ada', role: 'viewer', sources: null };
const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const start = (digest: Buffer, name = 'ada', password_hash: string | null = 'hash') =>
  startSession(test.service, digest, { name, password_hash });
const expire = (table: 'sessions' | 'access_tokens') =>
  sql`update ${sql.table(table)} set expires_at = now()`.execute(test.db);

/** Changes after which somebody is not logged in any more. */
const ENDS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['the account is disabled', () => disableAccount(test.service, 'ADA')],
  // As another process may do in the same moment.
  [
    'the account is only marked as disabled',
    () => sql`update accounts set disabled_at = now()`.execute(test.db),
  ],
];

describe('a session', () => {
  it.each([
    ...ENDS,
    ['it expires', () => expire('sessions')] as const,
    ['it is ended', () => endSession(test.service, ONE)] as const,
    ['the account is changed', () => changeAccount(test.service, 'ada', { role: 'admin' })] as const,
  ])('is of its account until %s', async (_end, end) => {
    expect(await start(ONE)).toBe(true);
    expect(await findSession(test.service, ONE)).toEqual(ADA);
    expect(await findSession(test.service, TWO)).toBeUndefined();
    expect(await isAdminSession(test.service, ONE)).toBe(false);
    await end();
    expect(await findSession(test.service, ONE)).toBeUndefined();
  });

  it.each([
    ['another password', () => start(ONE, 'ada', 'old hash')],
    ['no password', () => start(ONE, 'ada', null)],
    ['an account that does not exist', () => start(ONE, 'eve')],
  ])('does not begin with %s', async (_with, begin) => {
    expect(await begin()).toBe(false);
    expect(await findSession(test.service, ONE)).toBeUndefined();
  });

  it('does not begin while the password changes: it waits, and the old one does not count any more', async () => {
    const holding = sql`update accounts set password_hash = 'new' where name = 'ada'`;
    expect(await whileHeld(test.db, holding, () => start(ONE))).toBe(false);
  });

  it('of others stays, and those that have expired are deleted when one begins', async () => {
    await start(ONE, 'bob');
    await disableAccount(test.service, 'ada');
    expect(await findSession(test.service, ONE)).toMatchObject({ name: 'bob' });
    await expire('sessions');
    await start(TWO, 'bob');
    expect(await test.query`select from sessions`).toHaveLength(1);
  });

  it('of the admin token is of no account', async () => {
    await startAdminSession(test.service, ONE);
    expect(await isAdminSession(test.service, ONE)).toBe(true);
    expect(await findSession(test.service, ONE)).toBeUndefined();
    await expire('sessions');
    expect(await isAdminSession(test.service, ONE)).toBe(false);
  });
});

describe('an API token', () => {
  const add = (account = 'Ada', digest = ONE, expiresAt = new Date(Date.now() + 60_000)) =>
    addAccessToken(test.service, { account, digest, label: 'test', expiresAt });

  it.each([
    ...ENDS,
    ['it expires', () => expire('access_tokens')] as const,
    [
      'it is revoked',
      async () => revokeAccessToken(test.service, (await listAccessTokens(test.service))[0]?.id ?? ''),
    ] as const,
  ])('lets its account in until %s', async (_end, end) => {
    await add();
    expect(await findTokenHolder(test.service, TWO)).toBeUndefined();
    expect(await findTokenHolder(test.service, ONE)).toEqual(ADA);
    await end();
    expect(await findTokenHolder(test.service, ONE)).toBeUndefined();
  });

  it('is revoked once, with the account or alone, and listed until then', async () => {
    const id = await add();
    const other = await add('bob', TWO);
    await disableAccount(test.service, 'bob');
    expect((await listAccessTokens(test.service)).map((token) => token.id)).toEqual([id]);
    await expect(revokeAccessToken(test.service, other)).rejects.toThrow(`no API token ${other}`);
    expect(await revokeAccessToken(test.service, id)).toEqual({ account: 'ada', label: 'test' });
    expect(await listAccessTokens(test.service)).toEqual([]);
    await expect(add('bob')).rejects.toThrow('no account "bob", or it is disabled');
  });

  it('remembers when it was used, to the minute', async () => {
    await add();
    const usedAt = async () => (await listAccessTokens(test.service))[0]?.last_used_at;
    const use = () => findTokenHolder(test.service, ONE);
    await use();
    const first = await usedAt();
    await use();
    expect(await usedAt()).toEqual(first);
    await test.query`update access_tokens set last_used_at = now() - interval '61 seconds'`;
    await use();
    expect(await usedAt()).not.toEqual(first);
  });
});
