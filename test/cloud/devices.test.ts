import { expect, test } from 'vitest';
import { inTurn } from './scripted-cloud.ts';
import { startTestClient } from './test-client.ts';

const PAGE = { json: { pagination: { total: 1 }, data: [{ id: 1, hostname: 'ap-1' }] } };

test('fields and views are asked for as comma-separated names', async () => {
  await using cloud = await startTestClient(inTurn(PAGE));
  await Array.fromAsync(
    cloud.client.devices.list({ fields: ['hostname', 'connected'], views: ['status', 'location'] }),
  );
  expect(Object.fromEntries(new URL(cloud.received[0]?.url ?? '', 'http://cloud.test').searchParams)).toEqual(
    {
      fields: 'hostname,connected',
      views: 'status,location',
      page: '1',
      limit: '100',
    },
  );
});

test('without a selection neither is sent', async () => {
  await using cloud = await startTestClient(inTurn(PAGE));
  expect(await Array.fromAsync(cloud.client.devices.list())).toEqual([{ id: '1', hostname: 'ap-1' }]);
  expect(cloud.received[0]?.url).toBe('/devices?page=1&limit=100');
});

test('one device is read by its id, the identifiers in it exact', async () => {
  await using cloud = await startTestClient(
    inTurn({ raw: '{"id":9007199254740993,"location_id":1,"x":null}' }),
  );
  expect(await cloud.client.devices.get('9007199254740993', { views: ['full'] })).toEqual({
    id: '9007199254740993',
    location_id: '1',
    x: null,
  });
  expect(cloud.received[0]?.url).toBe('/devices/9007199254740993?views=full');
});
