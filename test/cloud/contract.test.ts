import { describe, expect, it } from 'vitest';
import { isSameRole } from '../../src/cloud/contract/auth.ts';
import { inTurn } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';

/** A subscription with the members of the published description, 25.9.0-36. */
const HELD = {
  id: 123456789012,
  create_time: '2026-11-01T08:00:00.000+0000',
  update_time: '2026-11-02T08:00:00.000+0000',
  application: 'xiq-sink',
  url: 'https://sink.test/ingest/default/AUDIT_LOG_ALL',
  secret: 's3cret',
  data_type: 'AUDIT_LOG',
  message_type: 'AUDIT_LOG_ALL',
  status: 'ENABLED',
};

const PAGE = { page: 1, count: 1, total_pages: 1, total_count: 1, data: [HELD] };

/** An alert subscription with the members of the published description, 25.9.0-36. */
const ALERT = {
  id: 42,
  create_time: '2026-11-01T08:00:00.000+0000',
  update_time: '2026-11-02T08:00:00.000+0000',
  url: 'https://sink.test/ingest/default/ALERT',
  secret: 's3cret',
  is_enabled: true,
  is_subscribe_all: true,
  alert_policy_ids: [],
};

const REQUEST = { application: '', url: ALERT.url, secret: ALERT.secret, message_type: 'ALERT' };

describe('alert subscriptions', () => {
  it.each([
    ['enabled for all policies', {}, 'ENABLED'],
    ['disabled', { is_enabled: false }, 'DISABLED'],
    [
      'enabled for some policies',
      { is_subscribe_all: false, alert_policy_ids: [5] },
      'ENABLED for selected policies',
    ],
  ])('are listed as a bare array: %s', async (_which, members, status) => {
    await using cloud = await startTestClient(inTurn({ json: [{ ...ALERT, ...members }] }));
    expect(await cloud.client.alertSubscriptions.list()).toEqual({
      available: true,
      subscriptions: [{ id: '42', url: ALERT.url, secret: 's3cret', message_type: 'ALERT', status }],
    });
    expect(cloud.received.map(({ url }) => url)).toEqual(['/alert-subscriptions/webhooks']);
  });

  it('are created and updated with one object, and deleted by path', async () => {
    await using cloud = await startTestClient(inTurn({ json: ALERT }));
    const { alertSubscriptions } = cloud.client;
    expect(await alertSubscriptions.create([REQUEST])).toMatchObject([{ id: '42', status: 'ENABLED' }]);
    expect(await alertSubscriptions.update('42', { ...REQUEST, status: 'DISABLED' })).toBe(true);
    await alertSubscriptions.remove('42');
    const sent = {
      url: ALERT.url,
      secret: 's3cret',
      is_enabled: true,
      is_subscribe_all: true,
      alert_policy_ids: [],
    };
    expect(
      cloud.received.map(({ method, url, body }): unknown => [
        method,
        url,
        body === '' ? '' : JSON.parse(body),
      ]),
    ).toEqual([
      ['POST', '/alert-subscriptions/webhooks', sent],
      ['PUT', '/alert-subscriptions/webhooks/42', { ...sent, is_enabled: false }],
      ['DELETE', '/alert-subscriptions/webhooks/42', ''],
    ]);
  });

  it.each([403, 404, 405])('are not available where the cloud answers %i', async (status) => {
    await using cloud = await startTestClient(inTurn({ status }));
    expect(await cloud.client.alertSubscriptions.list()).toEqual({ available: false, status });
  });

  it('without an update are left for a new one', async () => {
    await using cloud = await startTestClient(inTurn({ status: 405 }));
    expect(await cloud.client.alertSubscriptions.update('42', REQUEST)).toBe(false);
  });
});

describe('permissions and roles', () => {
  it('a check is repeated, answers permissions as names or whole, and may leave out the roles', async () => {
    const log = { name: 'log:r', description: 'Read logs', category: 'Logs' };
    const json = { permissions: ['log', log] };
    await using cloud = await startTestClient(inTurn({ status: 503 }, { json }));
    const check = { uri: '/logs/audit', method: 'get' };
    expect(await cloud.client.authorization.checkPermission(check)).toEqual({
      permissions: [{ name: 'log' }, log],
      roles: [],
    });
    const call = { method: 'POST', url: '/auth/permissions/:check', body: JSON.stringify(check) };
    expect(cloud.received).toMatchObject([call, call]);
  });

  it.each([
    ['Administrator', 'ADMINISTRATOR', true],
    ['Help Desk', 'HELP_DESK', true],
    ['Operator', 'APPLICATION_OPERATOR', false],
  ])('the roles %s and %s are the same: %s', (one, other, isSame) => {
    expect(isSameRole(one, other)).toBe(isSame);
  });
});

describe('a body of no documented form', () => {
  const LONG = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`member_${index}`, 'x']));

  it.each([
    ['an object', { items: [HELD] }, 'received {items: array of 1 {id: integer, create_time: string'],
    ['a text', 's3cret', 'received string; expected bare array, or page, or'],
    ['a list of texts', ['s3cret'], 'received array of 1 string; expected object, received string at [0]'],
    ['an item without id', [PAGE, { ...PAGE, data: [{ url: 's3cret' }] }], 'at [1].id of the list.'],
    ['many members', LONG, '8 more}'],
    ['members that are data', { 's3cret token': 1 }, '{(other): integer}'],
    ['nothing', null, 'received null'],
  ])('is one line with the call, the shape and the expectation: %s', async (_which, json, expected) => {
    await using cloud = await startTestClient(inTurn({ json }));
    const error: unknown = await cloud.client.subscriptions.list().catch((reason: unknown) => reason);
    const { message, cause } = error instanceof Error ? error : new Error('no error');
    expect(message).toMatch(/^GET \/subscriptions\/webhook answered 200 with an unexpected body: received /);
    expect(message).toContain(expected);
    expect(message).not.toMatch(/\n|s3cret/);
    expect(message.length).toBeLessThan(600);
    expect(cause).toBeUndefined();
  });
});
