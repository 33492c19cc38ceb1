import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isPassword } from '../../src/access/passwords.ts';
import { verifyTotp } from '../../src/access/totp.ts';
import { TOTP, URI } from 'otpauth';
import { findTokenHolder } from '../../src/store/access/access-tokens.ts';
import { digestOf } from '../../src/access/credentials.ts';
import { findAccount } from '../../src/store/access/accounts.ts';
import { endOfCommand } from '../support/command.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';
import { lastAction } from '../support/actions.ts';

const test = useDatabase();
const directory = useDirectory();

const end = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: directory }, 'access', ...words);

const access = async (...words: string[]) => (await end(...words)).stdout;

/** Runs a command with this text on standard input. */
async function piped(input: string, ...words: string[]): Promise<string> {
  const { stdin } = process;
  Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true });
  try {
    const { stdout, stderr } = await end(...words);
    return stdout + stderr;
  } finally {
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  }
}

describe('access', () => {
  it('add prints a generated password once, and only its hash is stored', async () => {
    const output = await access('add', 'ada', '--role', 'operator', '--source', 'a', '--source', 'b');
    const [, password = ''] = /^password: (\S+)$/m.exec(output) ?? [];
    const account = await findAccount(test.db, 'ada');
    expect(account).toMatchObject({ role: 'operator', sources: ['a', 'b'], totp_secret: null });
    expect(await isPassword(password, account?.password_hash)).toBe(true);
    const logged = await lastAction(test.db);
    expect(logged).toMatchObject({
      action: 'access.add',
      subject: 'ada',
      via: 'command',
      outcome: 'done',
      details: { role: 'operator', sources: ['a', 'b'], password: true, totp: false },
    });
    expect(JSON.stringify(logged)).not.toContain(password);
  });

  it('add reads a password from standard input, and prints the key of one-time codes', async () => {
    const output = await piped(
      'a password with blanks \n',
      'add',
      'grace',
      '--role',
      'auditor',
      '--password-stdin',
      '--totp',
    );
    expect(output).not.toContain('a password with blanks');
    const [uri = ''] = /otpauth:\S+/.exec(output) ?? [];
    const account = await findAccount(test.db, 'grace');
    expect(await isPassword('a password with blanks ', account?.password_hash)).toBe(true);
    const app = URI.parse(uri);
    if (!(app instanceof TOTP)) throw new Error(`${uri} is no key of time-based codes`);
    expect(app.label).toBe('grace');
    expect(verifyTotp(account?.totp_secret ?? '', app.generate(), undefined)).toBeDefined();
    expect(await piped('short\n', 'add', 'joan', '--role', 'viewer', '--password-stdin')).toContain(
      '12 to 1000 characters',
    );
    expect(await findAccount(test.db, 'joan')).toBeUndefined();
  });

  it('change changes what is given and nothing else', async () => {
    const before = await findAccount(test.db, 'grace');
    await access('change', 'grace', '--role', 'viewer');
    expect(await findAccount(test.db, 'grace')).toEqual({ ...before, role: 'viewer' });
    await access('change', 'ada', '--all-sources');
    expect((await findAccount(test.db, 'ada'))?.sources).toBeNull();
    await access('change', 'grace', '--no-totp');
    expect(await findAccount(test.db, 'grace')).toEqual({ ...before, role: 'viewer', totp_secret: null });
    expect(await access('change', 'grace', '--password')).toMatch(/^password: \S+$/m);
    expect((await findAccount(test.db, 'grace'))?.password_hash).not.toBe(before?.password_hash);
    expect(await lastAction(test.db)).toMatchObject({
      action: 'access.change',
      details: { password: 'new' },
    });
  });

  it('token prints a token once; list shows it with its end, and --revoke ends it', async () => {
    await access('add', 'grafana', '--role', 'viewer', '--no-password');
    const token = (await access('token', 'grafana', '--expires', '90d', '--label', 'dashboard')).trim();
    expect(await findTokenHolder(test.db, digestOf(token))).toEqual({
      name: 'grafana',
      role: 'viewer',
      sources: null,
    });
    expect(JSON.stringify(await lastAction(test.db))).not.toContain(token);
    const json = await access('list', '--json');
    expect(json).not.toContain(token);
    const line = z
      .looseObject({
        name: z.literal('grafana'),
        has_password: z.literal(false),
        tokens: z.tuple([
          z.looseObject({ id: z.string(), label: z.literal('dashboard'), expires_at: z.string() }),
        ]),
      })
      .parse(JSON.parse(json.split('\n').find((one) => one.includes('grafana')) ?? ''));
    const [{ id, expires_at: end }] = line.tokens;
    expect(Math.abs(Date.parse(end) - Date.now() - 90 * 86_400_000)).toBeLessThan(300_000);
    const table = await access('list');
    expect(table).toMatch(/^ada +operator +all +password /m);
    expect(table).toMatch(/^grafana +viewer +all +API tokens only /m);
    expect(table).toMatch(new RegExp(`^${id} +grafana +dashboard `, 'm'));
    expect(await access('token', '--revoke', id)).toBe(`revoked token ${id} (dashboard) of grafana\n`);
    expect(await findTokenHolder(test.db, digestOf(token))).toBeUndefined();
    expect(await lastAction(test.db)).toMatchObject({
      action: 'access.revoke',
      subject: id,
      outcome: 'done',
    });
  });

  it('remove disables, keeps the name, and change --enable brings the account back', async () => {
    await access('remove', 'ada');
    expect((await findAccount(test.db, 'ada'))?.disabled_at).not.toBeNull();
    const again = await end('add', 'ADA', '--role', 'admin');
    expect([again.code, again.stderr.includes('already used')]).toEqual([2, true]);
    expect(await lastAction(test.db)).toMatchObject({ action: 'access.add', outcome: 'failed' });
    await access('change', 'ada', '--enable');
    expect((await findAccount(test.db, 'ada'))?.disabled_at).toBeNull();
  });

  it.each([
    [['add', 'a b', '--role', 'viewer'], 'cannot be an account name'],
    [['add', 'joan'], '--role'],
    [['add', 'joan', '--role', 'king'], 'viewer, auditor, operator, admin'],
    [['change', 'nobody', '--role', 'admin'], 'there is no account'],
    [['change', 'ada'], 'nothing to change'],
    [['remove', 'nobody'], 'there is no account'],
    [['token', 'ada'], '--expires is required'],
    [['token', 'ada', '--expires', 'never'], 'duration'],
    [['token', 'nobody', '--expires', '1d'], 'does not exist or is disabled'],
    [['token', '--revoke', '999'], 'API token 999 does not exist'],
    [['token'], 'give the account name'],
  ])('%j is wrong usage', async (words, message) => {
    const { code, stderr } = await end(...words);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
