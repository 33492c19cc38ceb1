import { afterEach, describe, expect, it } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { LOG_RECORD_SCHEMAS } from '../../emulator/events/log-schemas.ts';
import { LOG_KINDS } from '../../src/cloud/contract/logs.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { DIALECTS } from '../../emulator/dialects.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import type { EmulatorSetup } from '../../emulator/emulator.ts';
import { createApiToken } from '../support/api-token.ts';
import { waitFor } from '../support/wait-for.ts';
import { createFakeClock } from './fake-clock.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** An emulator and its administrator's client, whose waits take no time. */
async function start(setup: EmulatorSetup = {}) {
  const emulator = createEmulator({ rate: 0, scale: { devices: 250, clients: 10, users: 10 }, ...setup });
  const baseUrl = await emulator.listen(0);
  cleanUps.push(() => emulator.close());
  const { username, password } = EMULATOR_LOGINS.administrator;
  const clientOf = (credentials: Parameters<typeof createCloudClient>[0]['credentials']) =>
    createCloudClient({ baseUrl, credentials, clock: createFakeClock(Date.now()) });
  return { emulator, baseUrl, clientOf, client: clientOf({ username, password }) };
}

describe('tokens', () => {
  it('come by login and end by logout', async () => {
    const { client } = await start();
    await client.login();
    expect(await client.authorization.tokenInfo()).toMatchObject({
      user_name: EMULATOR_LOGINS.administrator.username,
      role: 'Administrator',
    });
    await expect(client.logout()).resolves.toBeUndefined();
    // The next call logs in again, with a new token.
    expect(await client.authorization.tokenInfo()).toMatchObject({ role: 'Administrator' });
  });

  it('are not to be had for a wrong password', async () => {
    const { clientOf } = await start();
    const attempt = clientOf({ username: EMULATOR_LOGINS.administrator.username, password: 'wrong' }).login();
    await expect(attempt).rejects.toMatchObject({ status: 400, errorCode: 'BAD_REQUEST' });
  });

  it('of an API may do what they were made for', async () => {
    const { baseUrl, clientOf } = await start();
    const apiToken = await createApiToken(baseUrl, {
      permissions: ['auth:r', 'log:r'],
      expire_time: Math.floor(Date.now() / 1000) + 600,
    });
    const limited = clientOf({ apiToken });
    expect((await limited.authorization.tokenInfo()).scopes).toEqual(['auth:r', 'log:r']);
    await expect(limited.subscriptions.list()).rejects.toMatchObject({
      status: 403,
      errorCode: 'PERMISSION_DENIED',
      message: expect.stringContaining('subscriptions-webhook:r') as unknown,
    });
  });

  it('that were revoked are replaced by a login, and told apart where there is none', async () => {
    const { baseUrl, client, clientOf } = await start();
    const apiToken = await createApiToken(baseUrl, { permissions: ['auth:r'] });
    await fetch(`${baseUrl}/emulator/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ revoke_token: '*' }),
    });
    await expect(clientOf({ apiToken }).authorization.tokenInfo()).rejects.toMatchObject({
      status: 401,
      errorCode: 'AUTH_TOKEN_REVOKED',
    });
    await expect(client.authorization.tokenInfo()).resolves.toMatchObject({ role: 'Administrator' });
  });
});

describe('permissions', () => {
  it('are asked for by the call', async () => {
    const { client } = await start();
    const check = { uri: '/subscriptions/webhook', method: 'post' };
    const { permissions, roles } = await client.authorization.checkPermission(check);
    expect(permissions.map(({ name }) => name)).toEqual(['subscriptions-webhook']);
    expect(roles).toEqual(['Administrator']);
  });
});

describe('subscriptions', () => {
  const request = {
    application: 'a',
    url: 'https://sink.test/x',
    secret: 'a-secret',
    message_type: 'AUDIT_LOG_ALL',
  } as const;

  it('are created, listed, updated and removed', async () => {
    const { client } = await start({ dialect: 'spec' });
    const [created] = await client.subscriptions.create([request]);
    const id = created?.id ?? '';
    expect(created).toMatchObject({ ...request, status: 'ENABLED' });
    expect(await client.subscriptions.update(id, { ...request, status: 'DISABLED' })).toBe(true);
    expect(await client.subscriptions.list()).toMatchObject({
      available: true,
      subscriptions: [{ id, status: 'DISABLED' }],
    });
    await client.subscriptions.remove(id);
    expect(await client.subscriptions.list()).toEqual({ available: true, subscriptions: [] });
    await expect(client.subscriptions.remove(id)).rejects.toMatchObject({
      status: 404,
      errorCode: 'NOT_FOUND',
      message: expect.stringContaining(`No webhook subscription ${id}`) as unknown,
    });
  });

  it('are listed over several pages', async () => {
    const { client } = await start();
    await client.subscriptions.create(Array.from({ length: 205 }, () => request));
    const list = await client.subscriptions.list();
    const ids = list.available ? list.subscriptions.map(({ id }) => id) : [];
    expect(new Set(ids).size).toBe(205);
  });
});

describe('logs and account', () => {
  it('every log is read back, each record of the published shape', async () => {
    const { emulator, client } = await start({ rate: 500 });
    await client.login();
    await waitFor(() => LOG_KINDS.every((kind) => (emulator.status().logs[kind] ?? 0) > 0));
    for (const kind of LOG_KINDS) {
      const span = { from: Date.now() - 3_600_000, to: Date.now() + 1000 };
      const records = await Array.fromAsync(client.logs.read({ kind, ...span }));
      expect(records.length).toBeGreaterThan(0);
      for (const record of records) expect(LOG_RECORD_SCHEMAS[kind].safeParse(record).error).toBeUndefined();
    }
  });

  it.each(DIALECTS)('alerts and whole descriptions are read in the dialect %s', async (dialect) => {
    const { emulator, client } = await start({ dialect });
    emulator.happen('ALERT', 150);
    emulator.happen('AUDIT_LOG_ALL', 100);
    const span = { from: Date.now() - 3_600_000, to: Date.now() + 1000 };
    const alerts = await Array.fromAsync(client.logs.read({ kind: 'alerts', ...span }));
    expect(new Set(alerts.map(({ id }) => id)).size).toBe(150);
    expect(await Array.fromAsync(client.logs.read({ kind: 'alerts', from: 0, to: span.from }))).toEqual([]);
    const audit = await Array.fromAsync(client.logs.read({ kind: 'audit', ...span }));
    const summary = audit.find(({ full_description_id: id }) => typeof id === 'number');
    const whole = await client.logs.fullDescription(String(summary?.['full_description_id']));
    expect(whole?.startsWith(`${String(summary?.['description'])}: `)).toBe(true);
    expect(await client.logs.fullDescription('1')).toBeUndefined();
  });

  it('the account and its virtual instance are read', async () => {
    const { client } = await start();
    const home = await client.account.home();
    expect(home).toMatchObject({ name: 'Emulated Networks', data_center: 'EMULATED_RDC' });
    expect(await client.account.viq()).toMatchObject({ owner_id: home.id, devices: 250, expired: false });
  });
});
