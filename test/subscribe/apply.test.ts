import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CloudType } from '../../src/events/domain.ts';
import { findSubscriptions } from '../../src/store/sources/subscriptions.ts';
import type { Goal } from '../../src/subscribe/subscriber.ts';
import { createFakeClock } from '../cloud/fake-clock.ts';
import { useDatabase } from '../support/use-database.ts';
import { startStandIn, type Held, type HeldAlert, type StandIn } from './stand-in.ts';
import { PUBLIC_URL, testSubscriber } from './test-subscriber.ts';

const test = useDatabase();

let cloud: StandIn;
beforeEach(async () => {
  await test.db.deleteFrom('subscriptions').execute();
  cloud = await startStandIn();
});
afterEach(() => cloud[Symbol.asyncDispose]());

const TYPES = ['AUDIT_LOG_ALL', 'GDPR_LOG_ALL', 'EMAIL_LOG_ALL', 'SMS_LOG_ALL'] as const;

const foreign: Held = {
  id: 7,
  application: 'siem',
  url: 'https://siem.test/hook',
  secret: 'of-the-siem',
  message_type: 'AUDIT_LOG_ALL',
  status: 'DISABLED',
};

function subscriber(options: { secret?: string; types?: readonly CloudType[] } = {}) {
  const { types = TYPES, ...rest } = options;
  return testSubscriber(cloud.url, { db: test.db, messageTypes: types, ...rest });
}

const apply = (options?: Parameters<typeof subscriber>[0], goal: Goal = 'subscribed') =>
  subscriber(options).apply(goal);

const heldTypes = () => cloud.held.map(({ message_type }) => message_type).sort();

const recorded = async () =>
  (await findSubscriptions(test.db, 'default')).map(({ subscription_id: id, message_type: type }) => [
    id,
    type,
  ]);

/** Every second create fails, the first one included. */
const everySecond = (status: number, isDone: boolean) => (index: number) =>
  index % 2 === 0 ? { status, isDone } : undefined;

describe('apply', () => {
  it('creates one subscription for each type, leaves others alone, and writes down what the cloud told', async () => {
    cloud.held.push({ ...foreign });
    expect(await apply()).toMatchObject({ unfinished: [] });
    expect(cloud.held).toEqual([
      foreign,
      ...TYPES.map((type, index) => ({
        id: 101 + index,
        application: 'xiq-sink',
        url: `${PUBLIC_URL}/ingest/default/${type}`,
        secret: 'webhook-secret-1',
        message_type: type,
        status: 'ENABLED',
      })),
    ]);
    expect(await recorded()).toEqual(TYPES.map((type, index) => [String(101 + index), type]));
  });

  it('deletes what is no longer wanted, and everything of ours by the goal "removed"', async () => {
    cloud.held.push({ ...foreign });
    await apply();
    await apply({ types: ['SMS_LOG_ALL'] });
    expect(heldTypes()).toEqual(['AUDIT_LOG_ALL', 'SMS_LOG_ALL']);
    await apply({}, 'removed');
    expect(cloud.held).toEqual([foreign]);
    expect(await recorded()).toEqual([]);
  });

  it('takes one that was gone before it was deleted for deleted', async () => {
    await apply();
    cloud.behaviour.intercept = ({ method }) => {
      if (method === 'DELETE') cloud.held.splice(0);
      return undefined;
    };
    const { outcomes } = await apply({}, 'removed');
    expect(outcomes.map(({ error }) => error)).toEqual(TYPES.map(() => undefined));
  });

  it('changes nothing by a list that names a subscription on two pages: others may be missing in it', async () => {
    await apply();
    const [first] = cloud.held;
    cloud.behaviour.intercept = ({ method, url }) =>
      method === 'GET' && url.startsWith('/subscriptions')
        ? { json: { total_pages: 1, data: [...cloud.held, first] } }
        : undefined;
    await expect(apply()).rejects.toThrow('returned 5 items, 4 of them different');
    expect(heldTypes()).toEqual([...TYPES].sort());
  });
});

describe('after creates that failed', () => {
  it.each([500, 503, 400])(
    'by %i, the others are made, and the next apply makes the rest',
    async (status) => {
      cloud.behaviour.failCreate = everySecond(status, false);
      const { outcomes, unfinished } = await apply();
      expect(outcomes.map(({ error }) => error === undefined)).toEqual([false, true, false, true]);
      expect(unfinished.map(({ change, reason }) => [change.action, reason])).toEqual([
        ['create', expect.stringContaining(`answered ${status}`)],
        ['create', expect.stringContaining(`answered ${status}`)],
      ]);
      expect(heldTypes()).toEqual(['GDPR_LOG_ALL', 'SMS_LOG_ALL']);
      cloud.behaviour.failCreate = () => undefined;
      expect(await apply()).toMatchObject({ unfinished: [] });
      expect(heldTypes()).toEqual([...TYPES].sort());
    },
  );

  it('although they were done, the list shows it: nothing is unfinished, nothing is made twice', async () => {
    cloud.behaviour.failCreate = everySecond(503, true);
    expect(await apply()).toMatchObject({ unfinished: [] });
    expect((await apply()).outcomes).toEqual([]);
    expect(heldTypes()).toEqual([...TYPES].sort());
  });
});

describe('while the cloud only queues what is created', () => {
  beforeEach(() => {
    Object.assign(cloud.behaviour, { tellsCreated: false, listsUntilShown: 3 });
  });

  it('apply waits until the list shows it, and learns the ids from there', async () => {
    const clock = createFakeClock();
    let waits = 0;
    const { unfinished } = await testSubscriber(cloud.url, {
      db: test.db,
      messageTypes: TYPES,
      clock,
    }).apply('subscribed', { onWaiting: () => (waits += 1) });
    expect(unfinished).toEqual([]);
    expect(waits).toBe(3);
    expect(await recorded()).toEqual(TYPES.map((type, index) => [String(101 + index), type]));
  });

  it('apply gives up after 30 s and says so, apart from what was refused', async () => {
    cloud.behaviour.listsUntilShown = Infinity;
    cloud.behaviour.failCreate = everySecond(503, false);
    const clock = createFakeClock();
    const begun = clock.now();
    const { unfinished } = await testSubscriber(cloud.url, {
      db: test.db,
      messageTypes: TYPES,
      clock,
    }).apply('subscribed');
    expect(clock.now() - begun).toBe(30_000);
    const refused: unknown = expect.stringContaining('answered 503');
    const late = 'the cloud still does not show the change after 30 s';
    expect(unfinished.map(({ reason }) => reason)).toEqual([refused, late, refused, late]);
  });
});

describe('where the cloud does not list subscriptions', () => {
  beforeEach(() => {
    cloud.behaviour.lists = false;
  });

  it('creates what half of the creates left out, and nothing twice', async () => {
    cloud.behaviour.failCreate = everySecond(503, false);
    expect((await apply()).unfinished).toHaveLength(2);
    cloud.behaviour.failCreate = () => undefined;
    expect(await apply()).toMatchObject({ unfinished: [] });
    expect(heldTypes()).toEqual([...TYPES].sort());
  });

  it('finds out by an update that one is gone, and makes it anew', async () => {
    await apply();
    expect(await subscriber().plan('subscribed')).toMatchObject({ comparedWith: 'records' });
    cloud.held.splice(0, 1);
    expect(await apply({ secret: 'webhook-secret-2' })).toMatchObject({ unfinished: [] });
    expect(heldTypes()).toEqual([...TYPES].sort());
    expect((await recorded()).map(([id]) => id)).toEqual(['102', '103', '104', '105']);
  });

  it('makes nothing twice where it is not told the ids either, and says that it cannot change them', async () => {
    cloud.behaviour.tellsCreated = false;
    expect(await apply()).toMatchObject({ unfinished: [] });
    expect((await apply()).outcomes).toEqual([]);
    const reason: unknown = expect.stringContaining('delete it manually');
    expect((await apply({ secret: 'webhook-secret-2' })).unfinished).toMatchObject(
      TYPES.map(() => ({ reason })),
    );
    expect((await apply({}, 'removed')).unfinished).toMatchObject(TYPES.map(() => ({ reason })));
    expect(await recorded()).toEqual([]);
    expect(cloud.changes()).toHaveLength(TYPES.length);
  });
});

describe('where the list does not show secrets', () => {
  beforeEach(() => {
    cloud.behaviour.show = ({ secret: _secret, ...shown }) => shown;
  });

  it('the secret that was set last counts, so that a second apply changes nothing', async () => {
    cloud.behaviour.tellsCreated = false;
    await apply();
    expect((await apply()).outcomes).toEqual([]);
    // Each has the secret of its own record.
    await test.query`update subscriptions set secret_digest = message_type where message_type <> ${TYPES[0]}`;
    expect((await apply()).outcomes).toHaveLength(TYPES.length - 1);
    expect((await apply({ secret: 'webhook-secret-2' })).outcomes).toHaveLength(TYPES.length);
    expect((await apply({ secret: 'webhook-secret-2' })).outcomes).toEqual([]);
  });

  it('a secret that nobody knows is set once', async () => {
    await apply();
    await test.db.deleteFrom('subscriptions').execute();
    expect((await apply()).outcomes.map(({ change }) => change.action)).toEqual(TYPES.map(() => 'update'));
    expect((await apply()).outcomes).toEqual([]);
  });
});

describe.each([404, 405] as const)('where the cloud has no updates (%i)', (refusesUpdates) => {
  beforeEach(() => {
    cloud.behaviour.refusesUpdates = refusesUpdates;
  });

  it('the old subscription stays while the new one does not show', async () => {
    await apply({ types: ['SMS_LOG_ALL'] });
    Object.assign(cloud.behaviour, { tellsCreated: false, listsUntilShown: Infinity });
    const { unfinished } = await apply({ types: ['SMS_LOG_ALL'], secret: 'webhook-secret-2' });
    expect(unfinished).toMatchObject([{ reason: 'the cloud still does not show the change after 30 s' }]);
    expect(cloud.held.map(({ secret }) => secret)).toEqual(['webhook-secret-1']);
  });

  it('a deletion that fails is reported, and made by the next apply', async () => {
    await apply({ types: ['SMS_LOG_ALL'] });
    cloud.behaviour.intercept = ({ method }) => (method === 'DELETE' ? { status: 403 } : undefined);
    const rotated = { types: ['SMS_LOG_ALL'], secret: 'webhook-secret-2' } as const;
    expect((await apply(rotated)).unfinished).toMatchObject([{ change: { action: 'delete' } }]);
    cloud.behaviour.intercept = () => undefined;
    expect(await apply(rotated)).toMatchObject({ unfinished: [] });
    expect(cloud.held.map(({ secret }) => secret)).toEqual(['webhook-secret-2']);
  });

  it('the two are told apart where the list shows no secrets and the cloud tells no ids', async () => {
    await apply({ types: ['SMS_LOG_ALL'] });
    await test.db.deleteFrom('subscriptions').execute();
    cloud.behaviour.show = ({ secret: _secret, ...shown }) => shown;
    cloud.behaviour.tellsCreated = false;
    const rotated = { types: ['SMS_LOG_ALL'], secret: 'webhook-secret-2' } as const;
    expect(await apply(rotated)).toMatchObject({ unfinished: [] });
    expect(cloud.held.map(({ secret }) => secret)).toEqual(['webhook-secret-2']);
    expect((await apply(rotated)).outcomes).toEqual([]);
  });

  it('and does not list subscriptions either, the old one is deleted by its record', async () => {
    cloud.behaviour.lists = false;
    await apply();
    expect(await apply({ secret: 'webhook-secret-2' })).toMatchObject({ unfinished: [] });
    expect(cloud.held.map(({ id, secret }) => [id, secret])).toEqual(
      [105, 106, 107, 108].map((id) => [id, 'webhook-secret-2']),
    );
    expect((await apply({ secret: 'webhook-secret-2' })).outcomes).toEqual([]);
  });
});

describe('alert subscriptions', () => {
  const withAlerts = { types: ['SMS_LOG_ALL', 'ALERT'] } as const;
  const foreignAlert: HeldAlert = {
    id: 7,
    url: 'https://siem.test/alerts',
    secret: 'of-the-siem',
    is_enabled: false,
    is_subscribe_all: false,
    alert_policy_ids: [5],
  };
  const ours: HeldAlert = {
    id: 102,
    url: `${PUBLIC_URL}/ingest/default/ALERT`,
    secret: 'webhook-secret-1',
    is_enabled: true,
    is_subscribe_all: true,
    alert_policy_ids: [],
  };

  it('have one of ours for all policies, and others are left alone', async () => {
    cloud.heldAlerts.push({ ...foreignAlert });
    expect(await apply(withAlerts)).toMatchObject({ unfinished: [] });
    expect(cloud.heldAlerts).toEqual([foreignAlert, ours]);
    expect(heldTypes()).toEqual(['SMS_LOG_ALL']);
    expect((await apply(withAlerts)).outcomes).toEqual([]);
    const { subscriptions } = await subscriber(withAlerts).list();
    expect(subscriptions.filter(({ messageType }) => messageType === 'ALERT')).toMatchObject([
      { id: '7', status: 'DISABLED', isOurs: false },
      { id: '102', status: 'ENABLED', isOurs: true },
    ]);
    await apply(withAlerts, 'removed');
    expect(cloud.heldAlerts).toEqual([foreignAlert]);
    expect(await recorded()).toEqual([]);
  });

  it('have numbers of their own: one with the id of a webhook subscription is another one', async () => {
    await apply(withAlerts);
    expect([cloud.held[0]?.id, cloud.heldAlerts[0]?.id]).toEqual([101, 101]);
    cloud.behaviour.show = ({ secret: _secret, ...shown }) => shown;
    expect((await apply(withAlerts)).outcomes).toEqual([]);
    expect(await apply({ ...withAlerts, secret: 'webhook-secret-2' })).toMatchObject({ unfinished: [] });
    expect(cloud.heldAlerts).toMatchObject([{ id: 101, secret: 'webhook-secret-2' }]);
    await apply({ types: ['SMS_LOG_ALL'], secret: 'webhook-secret-2' });
    expect([cloud.held.length, cloud.heldAlerts.length]).toEqual([1, 0]);
  });

  it('are kept also where the cloud does not list webhook subscriptions', async () => {
    cloud.behaviour.lists = false;
    await apply(withAlerts);
    expect((await apply(withAlerts)).outcomes).toEqual([]);
    await apply({ ...withAlerts, secret: 'webhook-secret-2' });
    expect(cloud.heldAlerts).toMatchObject([{ id: 101, secret: 'webhook-secret-2' }]);
    await apply(withAlerts, 'removed');
    expect([cloud.held, cloud.heldAlerts, await recorded()]).toEqual([[], [], []]);
  });
});

it('two applies at once make nothing twice', async () => {
  await Promise.all([apply(), apply(), apply()]);
  expect(heldTypes()).toEqual([...TYPES].sort());
});

it('an apply that is broken off ends with the reason, and the next one goes on from there', async () => {
  const stop = new AbortController();
  const onOutcome = () => stop.abort(new Error('broken off'));
  const attempt = subscriber().apply('subscribed', { signal: stop.signal, onOutcome });
  await expect(attempt).rejects.toThrow('broken off');
  expect(heldTypes()).toEqual(['AUDIT_LOG_ALL']);
  await apply();
  expect(heldTypes()).toEqual([...TYPES].sort());
});
