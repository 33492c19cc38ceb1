import { expect, it } from 'vitest';
import { z } from 'zod';
import { isPassword } from '../../src/access/passwords.ts';
import { accountsArea } from '../../src/console/accounts/accounts-area.ts';
import { findAccount } from '../../src/store/access/accounts.ts';
import { listActions, recordEnded } from '../../src/store/access/operator-log.ts';
import { useConsole } from '../support/use-console.ts';

const TOKEN = 'the-admin-token-0123456789';
const admin = useConsole((db) => [accountsArea({ db })], { token: TOKEN });

async function send(path: string, body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${admin.url}/api/v1${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

async function listed(): Promise<unknown> {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return (await fetch(`${admin.url}/api/v1/accounts`, { headers })).json();
}

it('adds an account, whose password is shown once and is not in the operator log', async () => {
  const added = await send('/accounts', { name: 'grace', role: 'auditor', source: 'oak, elm', totp: 'on' });
  const answer = z.object({ secret: z.string(), totp_uri: z.string() }).parse(added.body);
  expect(answer.totp_uri).toMatch(/^otpauth:\/\/totp\/xiq-sink:grace/);
  const stored = await findAccount(admin.db, 'grace');
  expect(await isPassword(answer.secret, stored?.password_hash ?? null)).toBe(true);
  await recordEnded(admin.db, { operator: { name: 'grace', via: 'console' }, action: 'console.login' });
  expect(await listed()).toMatchObject({
    items: [
      {
        name: 'grace',
        role: 'auditor',
        sources: ['oak', 'elm'],
        login: 'password and code',
        last_login_at: expect.stringMatching(/^20/) as unknown,
        api_tokens: 0,
        disabled_at: null,
      },
    ],
  });
  expect(JSON.stringify(await listActions(admin.db, { limit: 10 }))).not.toContain(answer.secret);
});

it('changes the role and the sources of an account', async () => {
  await send('/accounts/grace/change', { role: 'operator', source: 'oak' });
  expect(await listed()).toMatchObject({ items: [{ role: 'operator', sources: ['oak'] }] });
  await send('/accounts/grace/change', { role: 'viewer' });
  expect(await listed()).toMatchObject({
    items: [{ role: 'viewer', sources: null, login: 'password and code' }],
  });
  expect(await listActions(admin.db, { limit: 1 })).toMatchObject([
    { action: 'access.change', subject: 'grace', details: { role: 'viewer', sources: 'all' } },
  ]);
  expect((await send('/accounts/grace/change', { role: 'owner' })).status).toBe(400);
  expect((await send('/accounts/nobody/change', { role: 'viewer' })).status).toBe(404);
});

it('disables an account, and enables it again', async () => {
  await send('/accounts/grace/disable', {});
  expect(await listed()).toMatchObject({ items: [{ disabled_at: expect.any(String) as unknown }] });
  await send('/accounts/grace/enable', {});
  expect(await listed()).toMatchObject({ items: [{ disabled_at: null }] });
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
