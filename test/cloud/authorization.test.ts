import { expect, test } from 'vitest';
import { inTurn } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

test('an API token is created with the expiry and permissions asked for', async () => {
  const created = {
    access_token: 'new-token',
    create_time: '2026-01-01T00:00:00.000+0000',
    expire_time: '2026-01-02T00:00:00.000+0000',
    creator_id: 1,
    customer_id: 2,
    description: 'sink',
    permissions: ['log:r'],
  };
  const body = { expire_time: 1_767_312_000, permissions: ['log:r'], description: 'sink' };
  await using cloud = await startTestClient(inTurn({ json: created }));
  expect(await cloud.client.authorization.createApiToken(body)).toEqual({
    ...created,
    creator_id: '1',
    customer_id: '2',
  });
  expect(cloud.received[0]).toMatchObject({
    method: 'POST',
    url: '/auth/apitoken',
    body: JSON.stringify(body),
  });
});

test('token information tells the owner exactly', async () => {
  const raw =
    '{"user_id":1,"user_name":"a","role":"Operator","owner_id":9007199254740993,"scopes":["log:r"],"expires_in":5}';
  await using cloud = await startTestClient(inTurn({ raw }));
  expect(await cloud.client.authorization.tokenInfo()).toMatchObject({
    owner_id: '9007199254740993',
    scopes: ['log:r'],
  });
  expect(cloud.received[0]?.url).toBe('/auth/apitoken/info');
});

test('a token is validated as plain text, without presenting our own', async () => {
  await using cloud = await startTestClient(inTurn({ status: 503 }, {}, { status: 400 }, { status: 401 }));
  expect(await cloud.client.authorization.validateToken('some.jwt')).toBe(true);
  expect(await cloud.client.authorization.validateToken('some.jwt')).toBe(false);
  expect(await cloud.client.authorization.validateToken('some.jwt')).toBe(false);
  expect(cloud.received[0]).toMatchObject({
    method: 'POST',
    url: '/auth/apitoken/:validate',
    body: 'some.jwt',
    headers: { 'content-type': 'text/plain' },
  });
  expect(cloud.received[0]?.headers.authorization).toBeUndefined();
});

test('a validation that could not be made is an error, not a no', async () => {
  await using cloud = await startTestClient(inTurn({ status: 403 }));
  await expect(cloud.client.authorization.validateToken('some.jwt')).rejects.toMatchObject({ status: 403 });
});

test('permissions are listed and checked', async () => {
  const log = { name: 'log:r', description: 'Read logs', category: 'Logs' };
  await using cloud = await startTestClient(
    inTurn({ json: [log] }, { status: 503 }, { json: { permissions: [log], roles: ['Administrator'] } }),
  );
  expect(await cloud.client.authorization.listPermissions()).toEqual([log]);
  const check = { uri: '/logs/audit', method: 'get' };
  expect(await cloud.client.authorization.checkPermission(check)).toEqual({
    permissions: [log],
    roles: ['Administrator'],
  });
  expect(cloud.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /auth/permissions',
    'POST /auth/permissions/:check',
    'POST /auth/permissions/:check',
  ]);
  expect(cloud.received[2]?.body).toBe(JSON.stringify(check));
});

test('account and VIQ information come with what the cloud adds', async () => {
  await using cloud = await startTestClient(
    inTurn({ json: { id: 7, name: 'Home', city: 'Salem' } }, { json: { vhm_id: 'VHM-1', licenses: [] } }),
  );
  expect(await cloud.client.account.home()).toEqual({ id: '7', name: 'Home', city: 'Salem' });
  expect(await cloud.client.account.viq()).toEqual({ vhm_id: 'VHM-1', licenses: [] });
  expect(cloud.received.map((call) => call.url)).toEqual(['/account/home', '/account/viq']);
});
