import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createRandom } from '../random.ts';
import { manualClock, startEmulator, startReceiver, subscriptionsTo } from './harness.ts';

/** Everything a seed decides: what is there at the start, and every delivery of ten seconds. */
async function lifeOf(seed: number) {
  const clock = manualClock();
  const receiver = await startReceiver();
  const { call, emulator } = await startEmulator({ seed, clock, rate: 20 });
  const lists = ['/devices?views=full', '/clients/active?views=full', '/users', '/endusers', '/ssids'];
  const world = await Promise.all(lists.map(async (path) => (await call('GET', path)).body));
  await call('POST', '/subscriptions/webhook', { body: subscriptionsTo(receiver.url, 's') });
  await clock.advance(10_000);
  await vi.waitFor(() => {
    expect(emulator.status().in_flight).toBe(0);
  });
  return { world, deliveries: receiver.received.map(({ path, text }) => `${path} ${text}`).toSorted() };
}

it('the same seed gives the same network and the same deliveries, another seed others', async () => {
  const [one, again, other] = [await lifeOf(1), await lifeOf(1), await lifeOf(2)];
  expect(one.deliveries.length).toBeGreaterThan(190);
  expect(again).toEqual(one);
  expect(other.world).not.toEqual(one.world);
  expect(other.deliveries).not.toEqual(one.deliveries);
});

it.each([
  { devices: 1, clients: 1, users: 1 },
  { devices: 75, clients: 300, users: 40 },
  { devices: 0, clients: 0, users: 0 },
])('the scale %j decides how much there is', async (scale) => {
  const { call } = await startEmulator({ scale });
  expect((await call('GET', '/devices')).body).toMatchObject({ pagination: { total: scale.devices } });
  expect((await call('GET', '/endusers')).body).toMatchObject({ pagination: { total: scale.users } });
});

it('an empty network lives on, and sends what does not need a device or a client', async () => {
  const clock = manualClock();
  const receiver = await startReceiver();
  const { call } = await startEmulator({ clock, rate: 20, scale: { devices: 0, clients: 0, users: 0 } });
  await call('POST', '/subscriptions/webhook', { body: subscriptionsTo(receiver.url, 's') });
  await clock.advance(3000);
  await vi.waitFor(() => {
    expect(new Set(receiver.received.map(({ path }) => path))).toEqual(
      new Set(['/AUDIT_LOG_ALL', '/CREDENTIAL_LOG_ALL', '/EMAIL_LOG_ALL', '/SMS_LOG_ALL']),
    );
  });
});

describe('chance', () => {
  it('keeps to its bounds and repeats itself', () => {
    fc.assert(
      fc.property(fc.integer(), fc.string(), fc.integer({ min: 0, max: 99 }), (seed, stream, max) => {
        const [a, b] = [createRandom(seed, stream), createRandom(seed, stream)];
        for (let index = 0; index < 20; index += 1) {
          const number = a.int(0, max);
          expect(number).toBe(b.int(0, max));
          expect(Number.isInteger(number) && number >= 0 && number <= max).toBe(true);
        }
        expect(a.hex(8)).toMatch(/^[0-9A-F]{8}$/);
      }),
    );
  });
});
