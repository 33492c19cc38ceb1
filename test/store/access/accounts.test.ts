import { describe, expect, it } from 'vitest';
import {
  addAccount,
  findAccount,
  hasAccounts,
  isAccountName,
  useTotpStep,
} from '../../../src/store/access/accounts.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();

describe('the name of an account', () => {
  it.each(['ada', 'Ada.Lovelace', 'ada@example.com', 'Zoë', '李', 'a'.repeat(100), 'CORP\\ada'])(
    'can be %j',
    (name) => {
      expect(isAccountName(name)).toBe(true);
    },
  );

  it.each([
    '',
    ' ',
    'admin token',
    'local user',
    'xiq-sink',
    'XIQ-SINK',
    'a b',
    'a\nb',
    'a\u0000b',
    'a\u202Eb',
    'a\u00A0b',
    'ﬁne',
    'a'.repeat(101),
  ])('cannot be %j', (name) => {
    expect(isAccountName(name)).toBe(false);
  });

  it('belongs to one account, in upper and lower case', async () => {
    await addAccount(test.db, { name: 'Ada', role: 'viewer' });
    await expect(addAccount(test.db, { name: 'aDA', role: 'admin' })).rejects.toMatchObject({
      code: 'ACCOUNT_EXISTS',
    });
    expect((await findAccount(test.db, 'ADA'))?.role).toBe('viewer');
    await expect(
      test.db.insertInto('accounts').values({ name: 'a b', role: 'viewer' }).execute(),
    ).rejects.toThrow(/check/);
  });
});

it('the step of a one-time password counts once, and never goes back', async () => {
  await addAccount(test.db, { name: 'steps', role: 'viewer' });
  const use = (step: number) => useTotpStep(test.db, 'steps', step);
  expect(await use(7)).toBe(true);
  expect(await use(7)).toBe(false);
  expect(await use(6)).toBe(false);
  expect((await Promise.all([use(8), use(8), use(8)])).filter(Boolean)).toHaveLength(1);
});

it('a database before the migration has no accounts', async () => {
  expect(await hasAccounts(test.db)).toBe(true);
  await test.query`alter table accounts rename to accounts_away`;
  expect(await hasAccounts(test.db)).toBe(false);
  await test.query`alter table accounts_away rename to accounts`;
});
