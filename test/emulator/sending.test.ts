import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { LOG_RECORD_SCHEMAS } from '../../src/cloud/contract/logs.ts';
import { MESSAGE_TYPES } from '../../src/domain.ts';
import type { EmulatorSetup } from '../../src/emulator/emulator.ts';
import { LOG_OF } from '../../src/emulator/journal.ts';
import type { EmulatedSecretForm } from '../../src/emulator/secret-forms.ts';
import type { Received } from './harness.ts';
import { manualClock, startEmulator, startReceiver, subscriptionsTo } from './harness.ts';

/** With all that may stand in an HTTP header and in Basic credentials. */
const SECRET = 'colon: space & $ign = "quoted" %41 /+';

/** An emulator whose clock is moved by hand, subscribed to all nine types at one receiver. */
async function setUp(setup: EmulatorSetup = {}, secret = 'secret', types: readonly string[] = MESSAGE_TYPES) {
  const clock = manualClock();
  const receiver = await startReceiver();
  const started = await startEmulator({ clock, rate: 10, ...setup });
  const body = subscriptionsTo(receiver.url, secret, types);
  const answer = await started.call('POST', '/subscriptions/webhook', { body });
  expect(answer.status).toBe(200);
  return { ...started, clock, receiver };
}

function typeOf({ path }: Received): string {
  return path.slice(1);
}

/** Lets some time go by and waits until everything sent in it was answered. */
async function live({ clock, emulator }: Awaited<ReturnType<typeof setUp>>, ms: number): Promise<void> {
  await clock.advance(ms);
  await vi.waitFor(() => {
    expect(emulator.status().in_flight).toBe(0);
  });
}

describe('a delivery carries the secret of its subscription', () => {
  const expected: Readonly<Record<EmulatedSecretForm, (delivery: Received) => Record<string, string>>> = {
    basic: () => ({ authorization: `Basic ${Buffer.from(`webhook:${SECRET}`).toString('base64')}` }),
    bearer: () => ({ authorization: `Bearer ${SECRET}` }),
    raw: () => ({ authorization: SECRET }),
    hmac: ({ text }) => ({
      signature: `sha256=${createHmac('sha256', SECRET).update(text).digest('hex')}`,
    }),
  };

  it.each(['basic', 'bearer', 'raw', 'hmac'] as const)('in the form %s', async (secretForm) => {
    const setup = await setUp({ secretForm }, SECRET);
    await live(setup, 2000);
    expect(setup.receiver.received.length).toBeGreaterThan(10);
    for (const delivery of setup.receiver.received) {
      const { authorization, 'x-hub-signature-256': signature, 'content-type': type } = delivery.headers;
      const carried = expected[secretForm](delivery);
      expect({ authorization, signature, type }).toEqual({ type: 'application/json', ...carried });
    }
  });

  it('from the moment it is changed, in the new one', async () => {
    const setup = await setUp({ secretForm: 'raw' }, 'old', ['AUDIT_LOG_ALL']);
    await live(setup, 1000);
    const { pagination, data } = z
      .object({ pagination: z.looseObject({}), data: z.array(z.object({ id: z.int() })) })
      .parse((await setup.call('GET', '/subscriptions/webhook')).body);
    expect(pagination).toMatchObject({ total: 1 });
    await setup.call('PUT', `/subscriptions/webhook/${data[0]?.id}`, { body: { secret: 'new' } });
    const before = setup.receiver.received.length;
    await live(setup, 1000);
    const secrets = setup.receiver.received.map(({ headers }) => headers.authorization);
    expect(new Set(secrets.slice(0, before))).toEqual(new Set(['old']));
    expect(new Set(secrets.slice(before))).toEqual(new Set(['new']));
    expect(secrets.length).toBeGreaterThan(before);
  });
});

describe('sending', () => {
  it('takes turns: all nine types within the first nine deliveries', async () => {
    const setup = await setUp();
    await live(setup, 1000);
    const first = setup.receiver.received.slice(0, 9).map(typeOf);
    expect(first.toSorted()).toEqual(MESSAGE_TYPES.toSorted());
  });

  it.each([1, 7, 40])('keeps to %d deliveries a second', async (rate) => {
    const setup = await setUp({ rate });
    await live(setup, 5000);
    expect(Math.abs(setup.receiver.received.length - rate * 5)).toBeLessThanOrEqual(1);
  });

  it('gives the records of a type to every subscription of it, to none that is disabled or of another type', async () => {
    const setup = await setUp({}, 'secret', ['SMS_LOG_ALL']);
    const other = await startReceiver();
    const disabled = subscriptionsTo(other.url, 'x', ['AUDIT_LOG_ALL', 'EMAIL_LOG_ALL']).map(
      (subscription) => ({
        ...subscription,
        status: 'DISABLED',
      }),
    );
    const body = [...subscriptionsTo(other.url, 'other', ['SMS_LOG_ALL']), ...disabled];
    await setup.call('POST', '/subscriptions/webhook', { body });
    await live(setup, 4000);
    const [mine, theirs] = [setup.receiver, other].map(({ received }) =>
      received.flatMap(({ records }) => records.map(({ id }) => id)),
    );
    expect(mine?.length).toBeGreaterThan(5);
    // One of the two may not have had its turn for the newest.
    const common = Math.min(mine?.length ?? 0, theirs?.length ?? 0);
    expect(theirs?.slice(0, common)).toEqual(mine?.slice(0, common));
    expect(new Set(other.received.map(typeOf))).toEqual(new Set(['SMS_LOG_ALL']));
  });

  it('sends arrays of several, arrays of one, and single objects', async () => {
    const setup = await setUp({ rate: 50 });
    await live(setup, 3000);
    const { received } = setup.receiver;
    const kinds = new Set(received.map(({ isArray, records }) => `${isArray} ${records.length > 1}`));
    expect(kinds).toEqual(new Set(['true true', 'true false', 'false false']));
  });

  it('stops with its subscription, and goes on without any', async () => {
    const setup = await setUp({}, 'secret', ['GDPR_LOG_ALL']);
    await live(setup, 500);
    const page = z.object({ data: z.array(z.object({ id: z.int() })) });
    const { data } = page.parse((await setup.call('GET', '/subscriptions/webhook')).body);
    await setup.call('DELETE', `/subscriptions/webhook/${data[0]?.id}`);
    const before = setup.receiver.received.length;
    await live(setup, 5000);
    expect(setup.receiver.received).toHaveLength(before);
    expect(setup.emulator.status().logs['audit']).toBeGreaterThan(3);
  });

  it('counts what it sent by type and status, and goes on when a receiver refuses or is gone', async () => {
    const clock = manualClock();
    const receiver = await startReceiver(({ path }) => (path === '/SMS_LOG_ALL' ? 401 : 200));
    const { call, emulator } = await startEmulator({ clock, rate: 10 });
    const gone = subscriptionsTo('http://127.0.0.1:9', 's', ['GDPR_LOG_ALL']);
    const body = [...subscriptionsTo(receiver.url, 's', ['SMS_LOG_ALL', 'AUDIT_LOG_ALL']), ...gone];
    await call('POST', '/subscriptions/webhook', { body });
    await clock.advance(3000);
    await vi.waitFor(() => {
      expect(emulator.status().in_flight).toBe(0);
    });
    const { sent } = emulator.status();
    expect(sent.SMS_LOG_ALL.answers).toEqual({ 401: sent.SMS_LOG_ALL.deliveries });
    expect(sent.AUDIT_LOG_ALL.answers).toEqual({ 200: sent.AUDIT_LOG_ALL.deliveries });
    expect(sent.GDPR_LOG_ALL.answers).toEqual({ failed: sent.GDPR_LOG_ALL.deliveries });
    for (const type of ['SMS_LOG_ALL', 'AUDIT_LOG_ALL'] as const) {
      const got = receiver.received.filter(({ path }) => path === `/${type}`);
      expect(got).toHaveLength(sent[type].deliveries);
      expect(got.flatMap(({ records }) => records)).toHaveLength(sent[type].records);
    }
  });

  it('follows no redirect, so that the secret stays with the address it was given for', async () => {
    const clock = manualClock();
    const elsewhere = await startReceiver();
    const receiver = await startReceiver(() => 307);
    const { call, emulator } = await startEmulator({ clock, rate: 5 });
    await call('POST', '/subscriptions/webhook', {
      body: subscriptionsTo(receiver.url, 's', ['SMS_LOG_ALL']),
    });
    await clock.advance(1000);
    await vi.waitFor(() => {
      expect(emulator.status().sent.SMS_LOG_ALL.answers).toEqual({ 307: receiver.received.length });
    });
    expect(elsewhere.received).toEqual([]);
  });

  it('has no more than 256 deliveries under way, whatever the receiver does', async () => {
    const clock = manualClock();
    const { promise, resolve } = Promise.withResolvers<number>();
    const receiver = await startReceiver(() => promise);
    const { call, emulator } = await startEmulator({ clock, rate: 1000 });
    await call('POST', '/subscriptions/webhook', { body: subscriptionsTo(receiver.url, 's') });
    await clock.advance(2000);
    expect(emulator.status().in_flight).toBe(256);
    resolve(200);
    await vi.waitFor(() => {
      expect(emulator.status().in_flight).toBeLessThan(256);
    });
  });

  it('ends with what is under way delivered', async () => {
    const setup = await setUp({ rate: 100 });
    await setup.clock.advance(1000);
    await setup.emulator.close();
    const { sent } = setup.emulator.status();
    const records = Object.values(sent).reduce((sum, counts) => sum + counts.records, 0);
    expect(setup.receiver.received.flatMap((delivery) => delivery.records)).toHaveLength(records);
  });
});

/** An emulator that has sent some hundred deliveries, and their records by message type. */
async function recordsByType() {
  const setup = await setUp({ rate: 100 });
  await live(setup, 2500);
  const records = new Map<string, Record<string, unknown>[]>();
  for (const delivery of setup.receiver.received) {
    records.set(typeOf(delivery), [...(records.get(typeOf(delivery)) ?? []), ...delivery.records]);
  }
  return { ...setup, records };
}

/** What a record says of who, what and when, in its webhook or its log form. */
function comparable(record: Record<string, unknown>): unknown {
  const { timeStamp, timestamp = timeStamp, userId, user_id = userId, orgId, org_id = orgId } = record;
  const { userName, username = userName, description, code, id } = record;
  return {
    timestamp,
    user_id,
    org_id,
    username,
    description,
    code,
    id: code === undefined ? id : undefined,
  };
}

describe('the payload', () => {
  const AUDIT = z.strictObject({
    ownerId: z.int(),
    orgId: z.int(),
    timeStamp: z.int(),
    id: z.null(),
    userId: z.int(),
    code: z.union([z.literal(10001), z.literal(10002), z.literal(40001), z.literal(40003)]),
    category: z.union([z.literal(1), z.literal(3)]),
    description: z.string().min(1),
    userName: z.string(),
    vhmName: z.string(),
    orgName: z.string().nullable(),
    deviceCount: z.null(),
    hostNames: z.null(),
    config: z.null(),
    deviceIds: z.null(),
  });
  const seen = {
    seenTime: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000$/),
    seenEpoch: z.int(),
  };
  const AP_CENTRIC = z.strictObject({
    ownerId: z.string().regex(/^\d+$/),
    apMac: z.string().regex(/^[0-9a-f]{12}$/),
    observations: z
      .array(
        z.strictObject({
          ...seen,
          clientMac: z.string().regex(/^[0-9a-f]{12}$/),
          ipv4: z.ipv4(),
          ipv6: z.null(),
          ssid: z.string().nullable(),
          rssi: z.int().negative(),
          manufacturer: z.string(),
          os: z.string(),
          lat: z.number(),
          lng: z.number(),
          unc: z.number(),
          x: z.number().min(-4).max(64),
          y: z.number().min(-4).max(44),
        }),
      )
      .min(1),
  });
  const CLIENT_CENTRIC = z.strictObject({
    ...seen,
    clientMac: z.string().regex(/^[0-9A-F]{12}$/),
    ipv4: z.ipv4(),
    lat: z.number(),
    lng: z.number(),
    deviceObservers: z
      .array(
        z.strictObject({
          apMac: z.string().regex(/^[0-9A-F]{12}$/),
          rssi: z.int().negative(),
          locationIdHierarchy: z.array(z.int()).length(3),
        }),
      )
      .min(1),
  });

  it('of audit and location events has the documented members, and only those', async () => {
    const { records } = await recordsByType();
    const audit = records.get('AUDIT_LOG_ALL')?.map((record) => AUDIT.parse(record));
    expect(new Set(audit?.map(({ code, category }) => `${code} ${category}`))).toEqual(
      new Set(['10001 1', '10002 1', '40001 3', '40003 3']),
    );
    expect(records.get('LOCATION_AP_CENTRIC')?.map((record) => AP_CENTRIC.parse(record))).not.toEqual([]);
    expect(records.get('LOCATION_CLIENT_CENTRIC')?.map((record) => CLIENT_CENTRIC.parse(record))).not.toEqual(
      [],
    );
  });

  it('of logs has owner, organization, time and the published members in camelCase', async () => {
    const { records } = await recordsByType();
    for (const [type, kind] of Object.entries(LOG_OF)) {
      if (kind === 'audit') continue;
      const published = Object.keys(LOG_RECORD_SCHEMAS[kind].shape);
      const expected = published
        .filter((name) => name !== 'org_id' && name !== 'timestamp')
        .map((name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));
      for (const record of records.get(type) ?? [{}]) {
        expect(Object.keys(record).toSorted()).toEqual(
          [...expected, 'ownerId', 'orgId', 'timeStamp'].toSorted(),
        );
      }
    }
  });

  it('has clients roam between access points', async () => {
    const { records } = await recordsByType();
    const places = new Map<unknown, Set<string>>();
    for (const record of records.get('LOCATION_CLIENT_CENTRIC') ?? []) {
      const { clientMac, deviceObservers } = CLIENT_CENTRIC.parse(record);
      places.set(clientMac, (places.get(clientMac) ?? new Set()).add(deviceObservers[0]?.apMac ?? ''));
    }
    expect([...places.values()].some((aps) => aps.size > 1)).toBe(true);
  });

  it('is listed by /logs, every record of it', async () => {
    const { records, call, clock } = await recordsByType();
    for (const [type, kind] of Object.entries(LOG_OF)) {
      const listed: unknown[] = [];
      const schema = z.object({
        pagination: z.looseObject({ total: z.int() }),
        data: z.array(z.record(z.string(), z.unknown())),
      });
      for (let page = 1; ; page += 1) {
        const span = `startTime=${clock.now() - 60_000}&endTime=${clock.now()}`;
        const answer = await call('GET', `/logs/${kind}?limit=100&page=${page}&${span}`);
        const { data, pagination } = schema.parse(answer.body);
        const strict = z.strictObject(LOG_RECORD_SCHEMAS[kind].shape);
        listed.push(...data.map((record) => comparable(strict.parse(record))));
        if (page * 100 >= pagination.total) break;
      }
      const sent = records.get(type)?.map(comparable) ?? [];
      expect(sent.length).toBeGreaterThan(5);
      for (const record of sent) expect(listed).toContainEqual(record);
    }
  });
});

it('API calls are heard of too: a login and an end user made through the API reach the subscribers', async () => {
  const setup = await setUp({}, 'secret', ['AUDIT_LOG_ALL', 'CREDENTIAL_LOG_ALL']);
  await setup.call('POST', '/endusers', { body: { user_name: 'made.by.api' } });
  await live(setup, 1000);
  const records = setup.receiver.received.flatMap((delivery) =>
    delivery.records.map((record) => ({ type: typeOf(delivery), ...record })),
  );
  expect(records).toContainEqual(
    expect.objectContaining({
      type: 'AUDIT_LOG_ALL',
      code: 40001,
      description: 'Cloud PPSK user made.by.api was created',
    }),
  );
  expect(records).toContainEqual(
    expect.objectContaining({ type: 'CREDENTIAL_LOG_ALL', username: 'made.by.api' }),
  );
});
