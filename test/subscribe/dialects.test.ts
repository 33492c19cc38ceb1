import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import { changesOf } from '../../src/subscribe/plan.ts';
import { createFakeClock } from '../cloud/fake-clock.ts';
import { useDatabase } from '../support/use-database.ts';
import { DIALECTS, startStandIn, type StandIn } from './stand-in.ts';
import { testSubscriber } from './test-subscriber.ts';

const ALL_TYPES = ['AUDIT_LOG_ALL', 'GDPR_LOG_ALL', 'SMS_LOG_ALL', 'ALERT'] as const;

const test = useDatabase();

describe.each(Object.entries(DIALECTS))('in the dialect: %s', (_name, dialect) => {
  let cloud: StandIn;
  /** One client for all steps of a test, as `serve` has one: what it has learnt stays with it. */
  let client: CloudClient;
  let offered: readonly string[];
  const clock = createFakeClock();
  beforeEach(async () => {
    await test.db.deleteFrom('subscriptions').execute();
    cloud = await startStandIn(dialect);
    client = createCloudClient({ baseUrl: cloud.url, credentials: { apiToken: 'api-token-1' }, clock });
    offered = ALL_TYPES.filter((type) => type !== 'ALERT' || cloud.behaviour.refusesAlerts === undefined);
  });
  afterEach(() => cloud[Symbol.asyncDispose]());

  const subscriber = (secret = 'secret-1') =>
    testSubscriber(cloud.url, { db: test.db, messageTypes: ALL_TYPES, client, clock, secret });

  /** Type and secret of each subscription in the cloud. */
  const held = () =>
    [
      ...cloud.held.map(({ message_type, secret }) => `${message_type} ${secret}`),
      ...cloud.heldAlerts.map(({ secret }) => `ALERT ${secret}`),
    ].sort();

  const oneOfEach = (secret: string) => offered.map((type) => `${type} ${secret}`).sort();

  it('apply creates each subscription once, and plan and list agree', async () => {
    expect(await subscriber().apply('subscribed')).toMatchObject({ unfinished: [] });
    expect(held()).toEqual(oneOfEach('secret-1'));
    const { steps, notOffered } = await subscriber().plan('subscribed');
    expect([changesOf(steps), notOffered]).toEqual([[], offered.includes('ALERT') ? [] : ['ALERT']]);
    expect((await subscriber().apply('subscribed')).outcomes).toEqual([]);
    expect(held()).toEqual(oneOfEach('secret-1'));
    const { subscriptions } = await subscriber().list();
    expect(subscriptions.filter(({ isOurs }) => isOurs)).toHaveLength(offered.length);
  });

  it('a secret is rotated without a moment in which a type has no subscription', async () => {
    await subscriber().apply('subscribed');
    const gaps: string[] = [];
    cloud.behaviour.intercept = ({ method, url }) => {
      const types = new Set(held().map((one) => one.split(' ')[0]));
      for (const type of offered) if (!types.has(type)) gaps.push(`${type} before ${method} ${url}`);
      return undefined;
    };
    for (const secret of ['secret-2', 'secret-3']) {
      expect(await subscriber(secret).apply('subscribed')).toMatchObject({ unfinished: [] });
      expect(held()).toEqual(oneOfEach(secret));
    }
    expect(gaps).toEqual([]);
    cloud.behaviour.intercept = () => undefined;
    expect(await subscriber('secret-3').apply('removed')).toMatchObject({ unfinished: [] });
    expect(held()).toEqual([]);
  });

  it('calls that the cloud was seen not to have are not repeated', async () => {
    for (const secret of ['secret-1', 'secret-2']) await subscriber(secret).apply('subscribed');
    const before = cloud.changes().length;
    await subscriber('secret-3').apply('subscribed');
    const { refusesUpdates, deletes } = cloud.behaviour;
    const isMissing = (call: string) =>
      (refusesUpdates !== undefined && call.startsWith('PUT /subscriptions')) ||
      (deletes === 'by query' && /^DELETE \/subscriptions\/webhook\/\d+$/.test(call));
    expect(cloud.changes().slice(before).filter(isMissing)).toEqual([]);
  });
});
