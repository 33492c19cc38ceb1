import { expect, test } from 'vitest';
import { inTurn } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

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
