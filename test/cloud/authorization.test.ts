import { expect, test } from 'vitest';
import { inTurn } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

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

test('permissions are checked', async () => {
  const log = { name: 'log:r', description: 'Read logs', category: 'Logs' };
  await using cloud = await startTestClient(
    inTurn({ status: 503 }, { json: { permissions: [log], roles: ['Administrator'] } }),
  );
  const check = { uri: '/logs/audit', method: 'get' };
  expect(await cloud.client.authorization.checkPermission(check)).toEqual({
    permissions: [log],
    roles: ['Administrator'],
  });
  expect(cloud.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /auth/permissions/:check',
    'POST /auth/permissions/:check',
  ]);
  expect(cloud.received[1]?.body).toBe(JSON.stringify(check));
});

test('account and VIQ information come with what the cloud adds', async () => {
  await using cloud = await startTestClient(
    inTurn({ json: { id: 7, name: 'Home', city: 'Salem' } }, { json: { vhm_id: 'VHM-1', licenses: [] } }),
  );
  expect(await cloud.client.account.home()).toEqual({ id: '7', name: 'Home', city: 'Salem' });
  expect(await cloud.client.account.viq()).toEqual({ vhm_id: 'VHM-1', licenses: [] });
  expect(cloud.received.map((call) => call.url)).toEqual(['/account/home', '/account/viq']);
});
