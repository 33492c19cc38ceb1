import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/use-database.ts';
import { startStandIn, type StandIn } from './stand-in.ts';
import { testSubscriber } from './test-subscriber.ts';

const test = useDatabase();

let cloud: StandIn;
beforeEach(async () => {
  cloud = await startStandIn();
});
afterEach(() => cloud[Symbol.asyncDispose]());

const subscriber = () => testSubscriber(cloud.url, { db: test.db, messageTypes: ['AUDIT_LOG_ALL'] });

/** What was asked of the subscriptions themselves. */
const touched = () => cloud.received.filter(({ url }) => url.startsWith('/subscriptions'));

describe('permissions', () => {
  it('are asked for by the calls that will be made, before these', async () => {
    await subscriber().apply('subscribed');
    const asked = cloud.received.filter(({ url }) => url === '/auth/permissions/:check');
    expect(asked.map(({ body }): unknown => JSON.parse(body))).toEqual([
      { uri: '/subscriptions/webhook', method: 'get' },
      { uri: '/subscriptions/webhook', method: 'post' },
    ]);
    const paths = cloud.received.map(({ url }) => url.replace(/\?.*/, ''));
    expect(paths.lastIndexOf('/auth/permissions/:check')).toBeLessThan(
      paths.indexOf('/subscriptions/webhook'),
    );
  });

  it.each([
    ['none at all', ['log:r'], 'subscriptions-webhook:r and subscriptions-webhook'],
    ['reading only', ['log:r', 'subscriptions-webhook:r'], 'subscriptions-webhook'],
    [
      'one whose name only begins alike',
      ['subscriptions'],
      'subscriptions-webhook:r and subscriptions-webhook',
    ],
  ])('that are missing are named, and nothing is touched: %s', async (_what, scopes, missing) => {
    cloud.behaviour.scopes = scopes;
    await expect(subscriber().apply('subscribed')).rejects.toThrow(`lacks the permission ${missing}:`);
    expect(touched()).toEqual([]);
  });

  it.each([
    ['to read suffice to list', ['subscriptions-webhook:r'], 'Administrator', true],
    ['of full control include reading', ['subscriptions-webhook'], 'Administrator', true],
    ['by a pattern may include anything', ['write*:subscriptions'], 'Administrator', true],
    ['follow from the role where the cloud tells no scopes', [], 'Administrator', true],
    ['follow from a role that has none', [], 'Operator', false],
  ])('%s', async (_which, scopes, role, isAllowed) => {
    Object.assign(cloud.behaviour, { scopes, role });
    const refusal = await subscriber()
      .list()
      .then(() => '', String);
    expect(refusal.includes('lacks the permission')).toBe(!isAllowed);
  });

  it.each([
    [401, '/auth/permissions/:check'],
    [403, '/auth/permissions/:check'],
    [404, '/auth/permissions/:check'],
    [500, '/auth/permissions/:check'],
    [403, '/auth/apitoken/info'],
  ])('are no obstacle when the check is not available: %i for %s', async (status, path) => {
    cloud.behaviour.intercept = ({ url }) => (url === path ? { status } : undefined);
    await expect(subscriber().apply('subscribed')).resolves.toMatchObject({ unfinished: [] });
  });

  it('cannot be asked for when no answer comes at all', async () => {
    cloud.behaviour.intercept = () => 'cut';
    await expect(subscriber().plan('subscribed')).rejects.toThrow('got no answer');
    expect(touched()).toEqual([]);
  });
});
