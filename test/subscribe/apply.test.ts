import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findSubscriptions } from '../../src/store/subscriptions.ts';
import { changesOf } from '../../src/subscribe/plan.ts';
import type { Goal } from '../../src/subscribe/subscriber.ts';
import { createFakeClock } from '../cloud/fake-clock.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { startStandIn } from './stand-in.ts';
import type { Held, StandIn } from './stand-in.ts';
import { PUBLIC_URL, testSubscriber } from './test-subscriber.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

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

function subscriber(options: { secret?: string; types?: readonly (typeof TYPES)[number][] } = {}) {
  const { types = TYPES, ...rest } = options;
  return testSubscriber(cloud.baseUrl, { db: test.db, messageTypes: types, ...rest });
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

  it('changes nothing the second time, nor does a plan', async () => {
    await apply();
    const before = cloud.changes();
    expect((await apply()).outcomes).toEqual([]);
    expect(changesOf((await subscriber().plan('subscribed')).steps)).toEqual([]);
    expect(cloud.changes()).toEqual(before);
  });

  it('repairs what was disabled, moved, given another secret or doubled', async () => {
    await apply();
    const [first, second, third, fourth] = cloud.held;
    Object.assign(first ?? {}, { status: 'DISABLED' });
    Object.assign(second ?? {}, { url: 'https://elsewhere.test/' });
    Object.assign(third ?? {}, { secret: 'another' });
    cloud.held.unshift({ ...foreign, ...fourth, id: 999 });
    await apply();
    const right = cloud.held;
    expect(right.map(({ id }) => id)).toEqual([101, 102, 103, 104]);
    expect(
      new Set(right.map(({ secret, status, application }) => `${secret} ${status} ${application}`)),
    ).toEqual(new Set(['webhook-secret-1 ENABLED xiq-sink']));
    expect(right[1]?.url).toBe(`${PUBLIC_URL}/ingest/default/GDPR_LOG_ALL`);
  });

  it('moves the cloud to another secret by updates alone, so that no delivery is missed', async () => {
    await apply();
    await apply({ secret: 'webhook-secret-2' });
    expect(cloud.changes().slice(TYPES.length)).toEqual(
      [101, 102, 103, 104].map((id) => `PUT /subscriptions/webhook/${id}`),
    );
    expect(new Set(cloud.held.map(({ secret }) => secret))).toEqual(new Set(['webhook-secret-2']));
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

  it('does not take a subscription that is listed on two pages for its own duplicate', async () => {
    await apply();
    const [first] = cloud.held;
    cloud.behaviour.intercept = ({ method, url }) =>
      method === 'GET' && url.startsWith('/subscriptions')
        ? { json: { total_pages: 1, data: [...cloud.held, first] } }
        : undefined;
    expect((await apply()).outcomes).toEqual([]);
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
    const { unfinished } = await testSubscriber(cloud.baseUrl, {
      db: test.db,
      messageTypes: TYPES,
      clock,
    }).apply('subscribed', { onWaiting: () => (waits += 1) });
    expect(unfinished).toEqual([]);
    expect(waits).toBe(3);
    expect(await recorded()).toEqual(TYPES.map((type, index) => [String(101 + index), type]));
  });

  it('apply gives up after 30 s and says so', async () => {
    cloud.behaviour.listsUntilShown = Infinity;
    const clock = createFakeClock();
    const begun = clock.now();
    const { unfinished } = await testSubscriber(cloud.baseUrl, {
      db: test.db,
      messageTypes: TYPES,
      clock,
    }).apply('subscribed');
    expect(clock.now() - begun).toBe(30_000);
    expect(new Set(unfinished.map(({ reason }) => reason))).toEqual(
      new Set(['the cloud still does not show the change after 30 s']),
    );
  });
});

describe('where the cloud does not list subscriptions', () => {
  beforeEach(() => {
    cloud.behaviour.lists = false;
  });

  it('apply knows from its records what there is: a second one changes nothing', async () => {
    await apply();
    const before = cloud.changes();
    expect(before).toHaveLength(TYPES.length);
    expect((await apply()).outcomes).toEqual([]);
    expect(cloud.changes()).toEqual(before);
    expect(await subscriber().plan('subscribed')).toMatchObject({ comparedWith: 'records' });
  });

  it('changes and removes by the ids that it was told', async () => {
    await apply();
    await apply({ secret: 'webhook-secret-2' });
    expect(new Set(cloud.held.map(({ secret }) => secret))).toEqual(new Set(['webhook-secret-2']));
    expect((await apply({ secret: 'webhook-secret-2' })).outcomes).toEqual([]);
    expect(await apply({}, 'removed')).toMatchObject({ unfinished: [] });
    expect(cloud.held).toEqual([]);
  });

  it('creates what half of the creates left out, and nothing twice', async () => {
    cloud.behaviour.failCreate = everySecond(503, false);
    expect((await apply()).unfinished).toHaveLength(2);
    cloud.behaviour.failCreate = () => undefined;
    expect(await apply()).toMatchObject({ unfinished: [] });
    expect(heldTypes()).toEqual([...TYPES].sort());
  });

  it('finds out by an update that one is gone, and makes it anew the next time', async () => {
    await apply();
    cloud.held.splice(0, 1);
    const { unfinished } = await apply({ secret: 'webhook-secret-2' });
    expect(unfinished).toMatchObject([{ change: { action: 'update', actual: { id: '101' } } }]);
    expect(await apply({ secret: 'webhook-secret-2' })).toMatchObject({ unfinished: [] });
    expect(heldTypes()).toEqual([...TYPES].sort());
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

describe('two applies at once', () => {
  it('make nothing twice', async () => {
    await Promise.all([apply(), apply(), apply()]);
    expect(heldTypes()).toEqual([...TYPES].sort());
  });
});

describe('an apply that is broken off', () => {
  it('ends with the reason, and the next one goes on from there', async () => {
    const stop = new AbortController();
    const onOutcome = () => stop.abort(new Error('broken off'));
    const attempt = subscriber().apply('subscribed', { signal: stop.signal, onOutcome });
    await expect(attempt).rejects.toThrow('broken off');
    expect(heldTypes()).toEqual(['AUDIT_LOG_ALL']);
    await apply();
    expect(heldTypes()).toEqual([...TYPES].sort());
  });
});
