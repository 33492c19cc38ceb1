import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { statusSchema } from '../routes/control.ts';
import {
  createCall,
  errorCode,
  logIn,
  manualClock,
  startEmulator,
  startReceiver,
  subscriptionsTo,
} from './harness.ts';
import type { Call } from './harness.ts';

const pageSchema = z.object({
  pagination: z.object({ total: z.int() }),
  data: z.array(z.looseObject({ id: z.int() })),
});
const listSchema = z.object({ data: z.array(z.looseObject({ id: z.int() })) });

async function setUp(faults: Record<string, unknown>, rate = 20) {
  const clock = manualClock();
  const receiver = await startReceiver();
  const started = await startEmulator({ clock, rate });
  const answer = await started.call('POST', '/emulator/faults', { token: undefined, body: faults });
  expect(answer).toMatchObject({ status: 200 });
  return { ...started, clock, receiver };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

async function subscribe({ call, receiver }: SetUp, types?: readonly string[]): Promise<void> {
  await call('POST', '/subscriptions/webhook', { body: subscriptionsTo(receiver.url, 'secret', types) });
}

async function live({ clock, emulator }: SetUp, ms: number): Promise<void> {
  await clock.advance(ms);
  await vi.waitFor(() => {
    expect(emulator.status().in_flight).toBe(0);
  });
}

async function subscriptions(call: Call) {
  return listSchema.parse((await call('GET', '/subscriptions/webhook?limit=100')).body).data;
}

describe('faults of sending', () => {
  it('lose: no delivery arrives, the status counts them, the log lists their events', async () => {
    const setup = await setUp({ lose: 1 });
    await subscribe(setup, ['SMS_LOG_ALL']);
    await live(setup, 2000);
    expect(setup.receiver.received).toEqual([]);
    const { lost, deliveries, records } = setup.emulator.status().sent.SMS_LOG_ALL;
    expect(deliveries).toBe(0);
    expect(lost).toBeGreaterThan(30);
    expect(setup.emulator.status().logs['sms']).toBeGreaterThanOrEqual(records);
  });

  it('repeat: every delivery arrives twice, byte for byte', async () => {
    const setup = await setUp({ repeat: 1 });
    await subscribe(setup);
    await live(setup, 2000);
    const times = new Map<string, number>();
    for (const { text } of setup.receiver.received) times.set(text, (times.get(text) ?? 0) + 1);
    expect(times.size).toBeGreaterThan(20);
    expect(new Set(times.values())).toEqual(new Set([2]));
  });

  it('reorder: each delivery arrives after the one that follows it, none is missing', async () => {
    const setup = await setUp({ reorder: 1 }, 1);
    await subscribe(setup, ['GDPR_LOG_ALL']);
    for (let second = 0; second < 8; second += 1) await live(setup, 1000);
    const ids = setup.receiver.received.flatMap(({ records }) =>
      records.map(({ logId }) => z.int().parse(logId)),
    );
    expect(ids).toHaveLength(8);
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = ids;
    expect([b, a, d, c, f, e, h, g]).toEqual(ids.toSorted((x, y) => x - y));
    expect(new Set(ids).size).toBe(8);
  });

  it('reorder: what is still held back at the end is sent', async () => {
    const setup = await setUp({ reorder: 1 }, 1);
    await subscribe(setup, ['GDPR_LOG_ALL']);
    await live(setup, 1000);
    expect(setup.receiver.received).toHaveLength(0);
    await setup.emulator.close();
    expect(setup.receiver.received).toHaveLength(1);
  });

  it('delay_ms: deliveries arrive that much later', async () => {
    const setup = await setUp({ delay_ms: 5000 }, 10);
    await subscribe(setup);
    await setup.clock.advance(4900);
    expect(setup.receiver.received).toEqual([]);
    expect(setup.emulator.status().in_flight).toBeGreaterThan(40);
    await setup.clock.advance(2100);
    await vi.waitFor(() => {
      expect(setup.receiver.received.length).toBeGreaterThan(15);
    });
  });
});

describe('faults of the API', () => {
  it.each([
    [429, 'RESOURCE_EXHAUSTED'],
    [500, 'INTERNAL'],
    [503, 'UNAVAILABLE'],
  ])('refuse_calls: every call answers %d with Retry-After, and deliveries go on', async (status, code) => {
    const setup = await setUp({});
    await subscribe(setup);
    const refuse_calls = { status, retry_after_seconds: 7 };
    await setup.call('POST', '/emulator/faults', { body: { refuse_calls } });
    for (const [method, path] of [
      ['POST', '/login'],
      ['GET', '/devices'],
      ['GET', '/subscriptions/webhook'],
    ] as const) {
      const answer = await setup.call(method, path);
      expect([answer.status, errorCode(answer)]).toEqual([status, code]);
      expect(answer.headers.get('retry-after')).toBe('7');
    }
    await live(setup, 1000);
    expect(setup.receiver.received.length).toBeGreaterThan(10);
    expect((await setup.call('GET', '/openapi.json')).status).toBe(200);
    await setup.call('POST', '/emulator/faults', { body: { refuse_calls: null } });
    expect((await setup.call('GET', '/devices')).status).toBe(200);
  });

  it.each<[object, { readonly length?: number; readonly total?: number; readonly second?: number }]>([
    [{ short_pages: true }, { length: 2, second: 2 }],
    [{ empty_pages: true }, { second: 0 }],
    [{ repeat_records: true }, { second: 3 }],
    [{ wrong_totals: 'lower' }, { total: 0.5 }],
    [{ wrong_totals: 'zero' }, { total: 0 }],
    [{ silent_logs: true }, { length: 0, total: 0, second: 0 }],
  ])(
    '%j: so are two pages of four records of a log',
    async (faults, { length = 4, total = 1, second = 4 }) => {
      const setup = await setUp({}, 200);
      await live(setup, 10_000);
      const page = async (number: number) => {
        const span = `startTime=${setup.clock.now() - 86_400_000}&endTime=${setup.clock.now()}`;
        const answer = await setup.call('GET', `/logs/audit?limit=4&page=${number}&${span}`);
        return pageSchema.parse(answer.body);
      };
      const all = await page(1);
      expect(all.data).toHaveLength(4);
      await setup.call('POST', '/emulator/faults', { body: faults });
      const [one, two] = [await page(1), await page(2)];
      expect(one.data).toHaveLength(length);
      expect(one.pagination.total).toBe(Math.floor(all.pagination.total * total));
      const before = new Set(one.data.map(({ id }) => id));
      expect(two.data.filter(({ id }) => !before.has(id))).toHaveLength(second);
    },
  );

  it('lose_times: records of a log have no time, the same ones each time', async () => {
    const setup = await setUp({ lose_times: 1 }, 200);
    await live(setup, 10_000);
    const span = `startTime=${setup.clock.now() - 86_400_000}&endTime=${setup.clock.now()}`;
    const { data } = pageSchema.parse((await setup.call('GET', `/logs/audit?limit=4&${span}`)).body);
    expect(data.map(({ timestamp }) => timestamp)).toEqual([null, null, null, null]);
  });

  it('fail_creates unstored: every second create answers 503 and leaves nothing', async () => {
    const setup = await setUp({ fail_creates: 'unstored' });
    const body = subscriptionsTo(setup.receiver.url, 's', ['SMS_LOG_ALL']);
    const create = () => setup.call('POST', '/subscriptions/webhook', { body });
    const [first, second, third, fourth] = [await create(), await create(), await create(), await create()];
    expect([first.status, second.status, third.status, fourth.status]).toEqual([503, 200, 503, 200]);
    expect(errorCode(first)).toBe('UNAVAILABLE');
    expect(first.headers.get('retry-after')).toBe('1');
    expect(await subscriptions(setup.call)).toHaveLength(2);
  });

  it('fail_creates stored: the answer is 503 and yet it is there', async () => {
    const setup = await setUp({ fail_creates: 'stored' });
    const body = subscriptionsTo(setup.receiver.url, 's', ['SMS_LOG_ALL']);
    expect((await setup.call('POST', '/subscriptions/webhook', { body })).status).toBe(503);
    expect(await subscriptions(setup.call)).toHaveLength(1);
    expect((await setup.call('POST', '/users', { body: { login_name: 'second' } })).status).toBe(201);
  });

  it('queue_creates: creating subscriptions answers 202 without a body', async () => {
    const setup = await setUp({ queue_creates: true });
    const body = subscriptionsTo(setup.receiver.url, 's', ['SMS_LOG_ALL']);
    const answer = await setup.call('POST', '/subscriptions/webhook', { body });
    expect([answer.status, answer.text, answer.headers.get('location')]).toEqual([202, '', null]);
    expect(await subscriptions(setup.call)).toMatchObject([
      { message_type: 'SMS_LOG_ALL', status: 'ENABLED' },
    ]);
  });

  it('hide_subscriptions: the list answers 404, the rest works on', async () => {
    const setup = await setUp({ hide_subscriptions: true });
    const body = subscriptionsTo(setup.receiver.url, 's', ['SMS_LOG_ALL']);
    const created = z
      .array(z.object({ id: z.int() }))
      .parse((await setup.call('POST', '/subscriptions/webhook', { body })).body);
    const listed = await setup.call('GET', '/subscriptions/webhook');
    expect([listed.status, errorCode(listed)]).toEqual([404, 'NOT_FOUND']);
    const path = `/subscriptions/webhook/${created[0]?.id}`;
    expect((await setup.call('PUT', path, { body: { status: 'DISABLED' } })).status).toBe(200);
    expect((await setup.call('DELETE', path)).status).toBe(200);
  });

  it('revoke_token: that token is revoked, no other', async () => {
    const { call, url, token } = await setUp({});
    const other = await logIn(url, 'administrator');
    const answer = await call('POST', '/emulator/faults', { body: { revoke_token: token } });
    expect(answer.text).not.toContain(token);
    expect(errorCode(await call('GET', '/devices'))).toBe('AUTH_TOKEN_REVOKED');
    expect((await call('GET', '/devices', { token: other })).status).toBe(200);
  });

  it('revoke_token *: all issued so far, none that comes after', async () => {
    const { call, url } = await setUp({});
    const other = await logIn(url, 'operator');
    await call('POST', '/emulator/faults', { body: { revoke_token: '*' } });
    expect(errorCode(await call('GET', '/devices'))).toBe('AUTH_TOKEN_REVOKED');
    expect(errorCode(await call('GET', '/devices', { token: other }))).toBe('AUTH_TOKEN_REVOKED');
    expect((await call('GET', '/devices', { token: await logIn(url, 'administrator') })).status).toBe(200);
  });
});

describe('the switch', () => {
  it('changes what is named, keeps the rest, and shows all of it in the status', async () => {
    const { call, url } = await setUp({ lose: 0.25, delay_ms: 10 });
    const answer = await call('POST', '/emulator/faults', { body: { lose: 0 } });
    const status = statusSchema.parse((await createCall(url)('GET', '/emulator/status')).body);
    expect(status.faults).toMatchObject({ lose: 0, delay_ms: 10, refuse_calls: null });
    expect(answer.body).toEqual(status.faults);
  });

  it('shows no secret and no token in the status', async () => {
    const setup = await setUp({});
    const body = subscriptionsTo(setup.receiver.url, 'the-secret-itself', ['SMS_LOG_ALL']);
    await setup.call('POST', '/subscriptions/webhook', { body });
    const { text } = await setup.call('GET', '/emulator/status');
    expect(text).not.toContain('the-secret-itself');
    expect(text).not.toContain(setup.token);
  });
});
