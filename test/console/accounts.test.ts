import { TOTP } from 'otpauth';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { digestOf, newApiToken } from '../../src/access/credentials.ts';
import { isPassword } from '../../src/access/passwords.ts';
import { accountsArea } from '../../src/console/accounts/accounts-area.ts';
import { addAccessToken, findTokenHolder } from '../../src/store/access/access-tokens.ts';
import { addAccount, findAccount } from '../../src/store/access/accounts.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { fieldsIn, rowsIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';

const TOKEN = 'the-admin-token-0123456789';
const admin = useConsole((db) => [accountsArea({ db })], { token: TOKEN });

async function send(path: string, body: object) {
  const { status, text } = await admin.ask(TOKEN, `/api/v1${path}`, body);
  const answer: unknown = JSON.parse(text);
  return { status, body: answer };
}

const listed = () => admin.get('/accounts');

const pageRows = async () => rowsIn((await admin.ask(TOKEN, '/access')).text, 'Accounts, by name');

const key = z.object({ address: z.string().startsWith('/login/invitation?key=') });

/** The link of an invitation, from the answer of the route that made it. */
const linkIn = (answer: { readonly body: unknown }) => admin.url + key.parse(answer.body).address;

/** Sends the form of an invitation. */
const accept = (link: string, fields: Readonly<Record<string, string>>) =>
  fetch(new URL('/login/invitation', link), {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ key: new URL(link).searchParams.get('key') ?? '', ...fields }),
  });

const GOOD = { password: 'correct horse battery', again: 'correct horse battery' };

const codeOf = (secret: string) => new TOTP({ secret }).generate();

it('invites a person, who sets a password and the key for one-time codes with a link that is valid once', async () => {
  const added = await send('/accounts', { name: 'grace', role: 'auditor', source: 'oak, elm', totp: 'on' });
  const link = linkIn(added);
  const stored = await findAccount(admin.db, 'grace');
  const secret = stored?.totp_secret ?? '';
  expect(stored).toMatchObject({ password_hash: null });
  expect(await listed()).toMatchObject({
    items: [{ sources: ['oak', 'elm'], login: 'invited, with a code', last_login_at: null, tokens: [] }],
  });
  expect(await pageRows()).toEqual([
    [
      'grace',
      'auditor',
      'oak, elm',
      expect.stringMatching(/^invited, with a code ends in (?:1 d|23 h)/),
      'never',
      'Change Invite Disable',
    ],
  ]);
  const page = await (await fetch(link)).text();
  expect(page).toContain(secret);
  expect(page).toContain('otpauth://totp/xiq-sink:grace?');

  const refused = { ...GOOD, code: codeOf(secret) };
  for (const [fields, problem] of [
    [{ ...refused, password: 'too short' }, 'must have 12 to 1000 characters'],
    [{ ...refused, again: 'another password' }, 'passwords differ'],
    [{ ...GOOD, code: '000' }, 'Wrong one-time code'],
    [GOOD, 'Wrong one-time code'],
  ] as const) {
    const answer = await accept(link, fields);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(problem)]);
  }

  const accepted = await accept(link, refused);
  expect([accepted.status, accepted.headers.get('location')]).toEqual([303, '/']);
  expect(accepted.headers.get('set-cookie')).toContain('xiq_sink_session=');
  const { password_hash: hash, totp_last_step: step } = (await findAccount(admin.db, 'grace')) ?? {};
  expect(await isPassword(GOOD.password, hash ?? null)).toBe(true);
  expect(step).not.toBeNull();
  expect(await listed()).toMatchObject({
    items: [
      {
        login: 'password and code',
        invited_until: null,
        last_login_at: expect.stringMatching(/^20/) as unknown,
      },
    ],
  });
  expect([(await fetch(link)).status, (await accept(link, refused)).status]).toEqual([404, 404]);

  const logged = await listActions(admin.db, { limit: 10 });
  expect(logged.map(({ action, operator }) => [action, operator])).toEqual([
    ['console.login', 'grace'],
    ['access.change', 'grace'],
    ['access.add', 'admin token'],
  ]);
  const written = JSON.stringify(logged);
  for (const hidden of [new URL(link).searchParams.get('key') ?? '', secret, GOOD.password])
    expect(written).not.toContain(hidden);
});

it('a new invitation ends the password and the one of before', async () => {
  const first = linkIn(await send('/accounts/grace/invite', {}));
  expect(await findAccount(admin.db, 'grace')).toMatchObject({ password_hash: null, totp_secret: null });
  const second = linkIn(await send('/accounts/grace/invite', {}));
  expect([(await fetch(first)).status, (await fetch(second)).status]).toEqual([404, 200]);
  expect((await accept(second, GOOD)).status).toBe(303);
  expect((await send('/accounts/nobody/invite', {})).status).toBe(404);
  await addAccount(admin.db, { name: 'olga', role: 'viewer', identity: 'https://id.example olga' });
  expect((await send('/accounts/olga/invite', {})).status).toBe(409);
  await admin.db.deleteFrom('accounts').where('name', '=', 'olga').execute();
});

it('an invitation ends after a day, and with its account', async () => {
  const link = linkIn(await send('/accounts', { name: 'late', role: 'viewer' }));
  const { invited_until: until } = (await findAccount(admin.db, 'late')) ?? {};
  expect((until?.getTime() ?? 0) - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
  expect((until?.getTime() ?? 0) - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
  const past = new Date(Date.now() - 1_000);
  await admin.db.updateTable('accounts').set({ invited_until: past }).where('name', '=', 'late').execute();
  expect((await pageRows()).at(-1)).toEqual([
    'late',
    'viewer',
    'all',
    'invitation has expired',
    'never',
    'Change Invite Disable',
  ]);
  expect([(await fetch(link)).status, (await accept(link, GOOD)).status]).toEqual([404, 404]);
  const again = linkIn(await send('/accounts/late/invite', {}));
  await send('/accounts/late/disable', {});
  expect((await accept(again, GOOD)).status).toBe(404);
  await send('/accounts/late/enable', {});
  expect((await accept(again, GOOD)).status).toBe(404);
});

it('the form of another site sets no password', async () => {
  const link = linkIn(await send('/accounts/late/invite', {}));
  const headers = { Origin: 'https://elsewhere.example' };
  const body = new URLSearchParams({ key: new URL(link).searchParams.get('key') ?? '', ...GOOD });
  const answer = await fetch(new URL('/login/invitation', link), { method: 'POST', headers, body });
  expect([answer.status, (await fetch(link)).status]).toEqual([403, 200]);
});

it('lists the API tokens of an account, and revokes one', async () => {
  const expiresAt = new Date(Date.now() + 86_400_000);
  const token = newApiToken();
  const id = await addAccessToken(admin.db, {
    account: 'grace',
    digest: digestOf(token),
    label: 'grafana',
    expires_at: expiresAt,
  });
  expect(await listed()).toMatchObject({
    items: [{ name: 'grace', tokens: [{ id, label: 'grafana', last_used_at: null }] }, { tokens: [] }],
  });
  const { text: page } = await admin.ask(TOKEN, '/access');
  expect(rowsIn(page, 'API tokens')).toEqual([
    [
      'grafana',
      'grace',
      expect.stringMatching(/ ago$/),
      'never',
      expect.stringMatching(/^in (?:24 h|1 d|23 h).* soon$/),
      'Revoke',
    ],
  ]);
  const yes = '✓ yes';
  expect(rowsIn(page, 'Roles')).toContainEqual(['auditor', yes, yes, yes, '', '', '', '', '']);
  expect(await send(`/access-tokens/${id}/revoke`, {})).toMatchObject({
    status: 200,
    body: { account: 'grace', label: 'grafana' },
  });
  expect(await findTokenHolder(admin.db, digestOf(token))).toBeUndefined();
  expect(await listed()).toMatchObject({ items: [{ tokens: [] }, { tokens: [] }] });
  expect(await listActions(admin.db, { limit: 1 })).toMatchObject([{ action: 'access.revoke', subject: id }]);
  expect((await send(`/access-tokens/${id}/revoke`, {})).status).toBe(404);
});

it('changes the role and the sources of an account', async () => {
  await send('/accounts/grace/change', { role: 'operator', source: 'oak' });
  expect(await listed()).toMatchObject({ items: [{ role: 'operator', sources: ['oak'] }, {}] });
  const form = async (query: string) => fieldsIn((await admin.ask(TOKEN, `/access${query}`)).text);
  expect(await form('?change=grace')).toMatchObject({ role: 'operator', source: 'oak' });
  expect(await form('')).toMatchObject({ name: '', role: '', source: '' });
  await send('/accounts/grace/change', { role: 'viewer' });
  expect(await listed()).toMatchObject({
    items: [{ role: 'viewer', sources: null, login: 'password' }, { name: 'late' }],
  });
  expect(await listActions(admin.db, { limit: 1 })).toMatchObject([
    { action: 'access.change', subject: 'grace', details: { role: 'viewer', sources: 'all' } },
  ]);
  expect((await send('/accounts/grace/change', { role: 'owner' })).status).toBe(400);
  expect((await send('/accounts/nobody/change', { role: 'viewer' })).status).toBe(404);
});

it('disables an account, and enables it again', async () => {
  await send('/accounts/grace/disable', {});
  expect(await listed()).toMatchObject({ items: [{ disabled_at: expect.any(String) as unknown }, {}] });
  expect(await pageRows()).toMatchObject([
    { 0: 'grace disabled', 5: 'Enable' },
    { 0: 'late', 5: 'Change Invite Disable' },
  ]);
  await send('/accounts/grace/enable', {});
  expect(await listed()).toMatchObject({ items: [{ disabled_at: null }, {}] });
  expect((await listActions(admin.db, { limit: 2 })).map(({ action }) => action)).toEqual([
    'access.change',
    'access.remove',
  ]);
});

it('accepts no second account of a name, no name with spaces, and no unknown role', async () => {
  expect((await send('/accounts', { name: 'GRACE', role: 'viewer' })).status).toBe(409);
  expect((await send('/accounts', { name: 'admin token', role: 'viewer' })).status).toBe(400);
  expect((await send('/accounts', { name: 'ada', role: 'owner' })).status).toBe(400);
  expect((await send('/accounts/nobody/disable', {})).status).toBe(404);
});
