import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import type { Subscription } from '../../src/cloud/contract/subscription.ts';
import { WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { changesOf } from '../../src/subscribe/plan.ts';
import { createFakeClock } from '../cloud/fake-clock.ts';
import { createApiToken } from '../support/api-token.ts';
import { useDatabase } from '../support/use-database.ts';
import { testSubscriber } from './test-subscriber.ts';

const test = useDatabase();

let emulator: ReturnType<typeof createEmulator>;
let apiUrl: string;
let client: CloudClient;
beforeEach(async () => {
  await test.db.deleteFrom('subscriptions').execute();
  emulator = createEmulator({ rate: 0 });
  apiUrl = await emulator.listen(0);
  client = clientOf('administrator');
});
afterEach(() => emulator.close());

function clientOf(login: keyof typeof EMULATOR_LOGINS): CloudClient {
  const { username, password } = EMULATOR_LOGINS[login];
  return createCloudClient({
    baseUrl: apiUrl,
    credentials: { username, password },
    clock: createFakeClock(),
  });
}

function subscriber(options: { secret?: string; client?: CloudClient } = {}) {
  return testSubscriber(apiUrl, { db: test.db, messageTypes: WEBHOOK_TYPES, client, ...options });
}

/** The subscriptions in the cloud, whether or not it lists them at the moment. */
async function held(): Promise<Subscription[]> {
  const { hide_subscriptions } = emulator.faults.current();
  emulator.faults.change({ hide_subscriptions: false });
  const list = await client.subscriptions.list();
  emulator.faults.change({ hide_subscriptions });
  if (!list.available) throw new Error('the emulator lists no subscriptions');
  return list.subscriptions;
}

const heldTypes = async () => (await held()).map(({ message_type }) => message_type ?? '').sort();

const ALL_TYPES = [...WEBHOOK_TYPES].sort();

it.each([
  ['by default', {}],
  ['where the cloud only queues what is created', { queue_creates: true }],
  ['where the cloud has no list', { hide_subscriptions: true }],
  ['without a list, only queueing', { hide_subscriptions: true, queue_creates: true }],
])('apply, twice makes nine subscriptions and then changes nothing, %s', async (_where, faults) => {
  emulator.faults.change(faults);
  expect(await subscriber().apply('subscribed')).toMatchObject({ unfinished: [] });
  const made = await held();
  expect(await heldTypes()).toEqual(ALL_TYPES);
  expect((await subscriber().apply('subscribed')).outcomes).toEqual([]);
  expect(changesOf((await subscriber().plan('subscribed')).steps)).toEqual([]);
  expect(await held()).toEqual(made);
});

describe('what is there already', () => {
  it('may be read, but not changed, by an operator, who is told what is missing', async () => {
    const operator = subscriber({ client: clientOf('operator') });
    await expect(operator.apply('subscribed')).rejects.toThrow('lacks the permission subscriptions-webhook:');
    await expect(operator.list()).resolves.toMatchObject({ subscriptions: [] });
    expect(await held()).toEqual([]);
  });

  it('is changed with an API token that may do this and nothing else', async () => {
    const apiToken = await createApiToken(apiUrl, { permissions: ['subscriptions-webhook'] });
    const limited = createCloudClient({
      baseUrl: apiUrl,
      credentials: { apiToken },
      clock: createFakeClock(),
    });
    expect(await subscriber({ client: limited }).apply('subscribed')).toMatchObject({ unfinished: [] });
    expect(await heldTypes()).toEqual(ALL_TYPES);
  });
});
