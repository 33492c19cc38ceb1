import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { EmulatedSecretForm } from '../sending/secret-forms.ts';
import type { Received } from './harness.ts';
import { manualClock, startEmulator, startReceiver, subscriptionsTo } from './harness.ts';
import { live, setUp, typeOf } from './sending-harness.ts';

/** With all that may stand in an HTTP header and in Basic credentials. */
const SECRET = 'colon: space & $ign = "quoted" %41 /+';

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

  it('tells a subscription nothing of what happened while it was disabled', async () => {
    const setup = await setUp({}, 'secret', ['SMS_LOG_ALL']);
    const page = z.object({ data: z.array(z.object({ id: z.int() })) });
    const { data } = page.parse((await setup.call('GET', '/subscriptions/webhook')).body);
    const path = `/subscriptions/webhook/${data[0]?.id}`;
    await setup.call('PUT', path, { body: { status: 'DISABLED' } });
    await live(setup, 5000);
    expect(setup.receiver.received).toEqual([]);
    expect(setup.emulator.status().logs['sms']).toBeGreaterThan(0);
    const enabledAt = setup.clock.now();
    await setup.call('PUT', path, { body: { status: 'ENABLED' } });
    await live(setup, 2000);
    const times = setup.receiver.received.flatMap(({ records }) => records.map(({ timeStamp }) => timeStamp));
    expect(times.length).toBeGreaterThan(5);
    expect(times.filter((time) => Number(time) < enabledAt)).toEqual([]);
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
    const receiver = await startReceiver(() => 307, { location: elsewhere.url });
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
