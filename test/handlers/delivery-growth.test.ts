import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/events/exact-json.ts';
import { EVENT_OVERHEAD, splitObservations } from '../../src/handlers/delivery-to-events.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';

/** The events of a body's text. */
const eventsOf = (records: string) =>
  deliveryToEvents(queuedDelivery('LOCATION_AP_CENTRIC', [], { records }));

describe('a delivery made to fill the memory', () => {
  const bomb = (shared: number, count: number) =>
    `{"shared":"${'x'.repeat(shared)}","observations":[${Array(count).fill('0').join(',')}]}`;

  it('has the records that would grow beyond all proportion set aside, as they came, and the others stored', () => {
    const { events, setAside } = eventsOf(`[${bomb(10_000, 5_000)},{"apMac":"aabbcc001122"}]`);
    expect(events.map(({ payload }) => payload)).toEqual(['{"apMac":"aabbcc001122"}']);
    expect(setAside).toHaveLength(1);
    expect(setAside[0]?.reason).toBe('5000 observations that share 10031 characters are too many to split');
    expect(String(setAside[0]?.content)).toBe(bomb(10_000, 5_000));
  });

  it.each([
    ['many records that each stay within the limit', Array(100).fill(bomb(5_000, 1_000))],
    ['many records of nothing but observations', Array(200).fill(bomb(0, 1_000))],
    ['one record of nothing but observations', [bomb(0, 200_000)]],
  ])('grows no more than 16 times and 256 KiB: %s', (_, records) => {
    const body = `[${records.join(',')}]`;
    const { events, setAside } = eventsOf(body);
    const stored = events.reduce((sum, { payload }) => sum + payload.length, 0);
    expect(stored).toBeLessThanOrEqual(16 * body.length + 256 * 1024);
    expect(setAside.length).toBeGreaterThan(0);
  });

  it('has a record whose numbers have too many digits, once they are written out, set aside alone', () => {
    const numbers = (count: number) => `{"a":[${Array(count).fill('1e1000').join(',')}]}`;
    const body = `[{"b":1},${numbers(49_000)},${numbers(100)}]`;
    for (const messageType of ['AUDIT_LOG_ALL', 'LOCATION_AP_CENTRIC'] as const) {
      const { events, setAside } = deliveryToEvents(queuedDelivery(messageType, [], { records: body }));
      expect(events.map(({ payload }) => payload)).toEqual(['{"b":1}', numbers(100)]);
      expect(setAside.map(({ reason }) => reason)).toEqual([
        'its numbers are too long when written out (49000000 digits)',
      ]);
    }
  });

  const location = {
    seenTime: '2018-05-01T10:20:30.000+0000',
    lat: 51.512345,
    lng: 0.123456,
    ipv4: '10.100.200.30',
  };
  const observers = Array.from({ length: 10 }, (_, n) => ({ apMac: `AABBCC00110${n}`, rssi: -70 }));
  const clients = Array.from({ length: 500 }, (_, x) => ({ ...location, x, deviceObservers: observers }));
  const observations = Array.from({ length: 5_000 }, (_, x) => ({
    ...location,
    clientMac: '0a1b2c3d4e5f',
    x,
  }));

  it.each([
    ['a small one whose record has much to say', 100, `[${bomb(2_000, 100)}]`],
    ['many clients, each seen by several access points', 5_000, JSON.stringify(clients)],
    ['a large one of the usual kind', 5_000, JSON.stringify([{ apMac: 'aabbcc001122', observations }])],
  ])('is told from one that is stored whole: %s', (_, count, body) => {
    const { events, setAside } = eventsOf(body);
    expect([events.length, setAside.length]).toEqual([count, 0]);
  });
});

it('a record is refused exactly when its parts together need more than the room', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 500 }), (count, length) => {
      const record = { shared: 'x'.repeat(length), observations: Array(count).fill(0) };
      const needed = (canonicalJson({ ...record, observations: [] }).length + EVENT_OVERHEAD) * count;
      expect([...splitObservations(record, needed)]).toHaveLength(count);
      expect(() => [...splitObservations(record, needed - 1)]).toThrow(`${count} observations that share`);
    }),
  );
});
