import { describe, expect, test } from 'vitest';
import type { SubscriptionRequest } from '../../emulator/contract/subscription.ts';
import { inTurn, type Received } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';

const REQUEST: SubscriptionRequest = {
  application: 'xiq-sink',
  url: 'https://sink.test/ingest/default/AUDIT_LOG_ALL',
  secret: 's3cret',
  message_type: 'AUDIT_LOG_ALL',
};

const calls = (received: Received[]) => received.map(({ method, url }) => `${method} ${url}`);

describe('list', () => {
  const body =
    '[{"id":9007199254740993,"application":"other","message_type":"SOMETHING_NEW","added":{"a":1}}]';

  test('reads a bare array, keeps members and kinds we do not know, and ids exactly', async () => {
    await using cloud = await startTestClient(inTurn({ raw: body }));
    expect(await cloud.client.subscriptions.list()).toEqual({
      available: true,
      subscriptions: [
        { id: '9007199254740993', application: 'other', message_type: 'SOMETHING_NEW', added: { a: 1 } },
      ],
    });
  });

  test.each([404, 405] as const)('says that there is no list when the cloud answers %i', async (status) => {
    await using cloud = await startTestClient(inTurn({ status }));
    expect(await cloud.client.subscriptions.list()).toEqual({ available: false, status });
  });

  test('other refusals are errors', async () => {
    await using cloud = await startTestClient(inTurn({ status: 403 }));
    await expect(cloud.client.subscriptions.list()).rejects.toMatchObject({ status: 403 });
  });
});

describe('create', () => {
  test('sends an array and always a status', async () => {
    await using cloud = await startTestClient(inTurn({ status: 202 }));
    await cloud.client.subscriptions.create([REQUEST, { ...REQUEST, status: 'DISABLED' }]);
    expect(cloud.received[0]).toMatchObject({
      method: 'POST',
      url: '/subscriptions/webhook',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(cloud.received[0]?.body ?? '')).toEqual([
      { ...REQUEST, status: 'ENABLED' },
      { ...REQUEST, status: 'DISABLED' },
    ]);
  });

  test.each([
    ['200 with the subscriptions', { json: [{ id: 7, ...REQUEST }] }, ['7']],
    ['201 with one subscription', { status: 201, json: { id: 7, ...REQUEST } }, ['7']],
    ['200 without a body', {}, []],
    ['202 without a body', { status: 202 }, []],
    ['a page of them', { json: { page: 1, total_count: 1, data: [{ id: 7, ...REQUEST }] } }, ['7']],
    ['a body of another kind', { status: 202, raw: 'accepted' }, []],
  ])('takes %s', async (_name, reply, ids) => {
    await using cloud = await startTestClient(inTurn(reply));
    const created = await cloud.client.subscriptions.create([REQUEST]);
    expect(created.map((subscription) => subscription.id)).toEqual(ids);
  });
});

describe('update', () => {
  test.each([
    ['the subscription', { json: { id: 7, ...REQUEST, status: 'ENABLED' } }],
    ['an empty 200', {}],
    ['202', { status: 202 }],
  ])('puts one object to the subscription, answered by %s', async (_answer, reply) => {
    await using cloud = await startTestClient(inTurn(reply));
    expect(await cloud.client.subscriptions.update('7', REQUEST)).toBe(true);
    expect(calls(cloud.received)).toEqual(['PUT /subscriptions/webhook/7']);
    expect(JSON.parse(cloud.received[0]?.body ?? '')).toEqual({ ...REQUEST, status: 'ENABLED' });
  });

  test('is not tried again where the cloud has no such call (405)', async () => {
    await using cloud = await startTestClient(inTurn({ status: 405 }));
    expect(await cloud.client.subscriptions.update('7', REQUEST)).toBe(false);
    expect(await cloud.client.subscriptions.update('8', REQUEST)).toBe(false);
    expect(cloud.received).toHaveLength(1);
  });

  test('is tried again after 404, until a deletion shows that the subscription was there', async () => {
    await using cloud = await startTestClient(({ method }) => (method === 'PUT' ? { status: 404 } : {}));
    const { subscriptions } = cloud.client;
    for (const id of ['7', '8']) expect(await subscriptions.update(id, REQUEST)).toBe(false);
    await subscriptions.remove('7');
    expect(await subscriptions.update('9', REQUEST)).toBe(false);
    expect(calls(cloud.received)).toEqual([
      'PUT /subscriptions/webhook/7',
      'PUT /subscriptions/webhook/8',
      'DELETE /subscriptions/webhook/7',
    ]);
  });

  test('other refusals are errors', async () => {
    await using cloud = await startTestClient(inTurn({ status: 422 }));
    await expect(cloud.client.subscriptions.update('7', REQUEST)).rejects.toMatchObject({ status: 422 });
  });
});

describe('remove', () => {
  test('deletes by path', async () => {
    await using cloud = await startTestClient(inTurn({}));
    await cloud.client.subscriptions.remove('9223372036854775807');
    expect(calls(cloud.received)).toEqual(['DELETE /subscriptions/webhook/9223372036854775807']);
  });

  test.each([404, 405])('deletes by the other route where the path answers %i', async (status) => {
    await using cloud = await startTestClient(inTurn({ status }, {}));
    await cloud.client.subscriptions.remove('7');
    expect(calls(cloud.received)).toEqual([
      'DELETE /subscriptions/webhook/7',
      'DELETE /subscriptions/webhook/:delete?ids=7',
    ]);
  });

  test('remembers the route that the cloud has, and finds the other one after a change', async () => {
    let has = '/subscriptions/webhook/:delete';
    await using cloud = await startTestClient(({ url }) => ({ status: url.startsWith(has) ? 202 : 404 }));
    await cloud.client.subscriptions.remove('7');
    await cloud.client.subscriptions.remove('8');
    has = '/subscriptions/webhook/9';
    await cloud.client.subscriptions.remove('9');
    expect(calls(cloud.received)).toEqual([
      'DELETE /subscriptions/webhook/7',
      'DELETE /subscriptions/webhook/:delete?ids=7',
      'DELETE /subscriptions/webhook/:delete?ids=8',
      'DELETE /subscriptions/webhook/:delete?ids=9',
      'DELETE /subscriptions/webhook/9',
    ]);
  });

  test.each([
    ['the subscription is not there', 404, 404, 404],
    ['the other route is taken for an id', 404, 400, 404],
    ['the subscription is not there on the other route', 405, 404, 404],
    ['the other route refuses', 404, 403, 403],
  ])('when %s the error that tells is thrown', async (_name, first, second, thrown) => {
    await using cloud = await startTestClient(inTurn({ status: first }, { status: second }));
    await expect(cloud.client.subscriptions.remove('7')).rejects.toMatchObject({ status: thrown });
  });

  test('any other refusal is not tried elsewhere', async () => {
    await using cloud = await startTestClient(inTurn({ status: 403 }));
    await expect(cloud.client.subscriptions.remove('7')).rejects.toMatchObject({ status: 403 });
    expect(cloud.received).toHaveLength(1);
  });
});
