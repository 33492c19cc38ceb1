import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AWAY_MS, sessionsOf, staysOf } from '../../../src/console/people/intervals.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const accounting = (at: number, columns: StoredEvent['columns']): StoredEvent => ({
  id: '1',
  eventId: `event-${at}-${JSON.stringify(columns)}`,
  deliveryId: 'delivery',
  source: 'default',
  messageType: 'ACCOUNTING_LOG_ALL',
  family: 'log',
  occurredAt: new Date(at).toISOString(),
  receivedAt: new Date(at).toISOString(),
  ownerId: null,
  orgId: null,
  origin: 'webhook',
  columns,
  payload: {},
});

/** A session with its reports, in minutes: it starts, reports some times, and may end. */
const session = fc.record({
  from: fc.nat(1000),
  reports: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 }),
  hasEnded: fc.boolean(),
  tellsStart: fc.boolean(),
});

describe('sessions', () => {
  it('last from their start to their end or last report, whatever the order of their events', () => {
    fc.assert(
      fc.property(fc.array(session, { maxLength: 6 }), fc.infiniteStream(fc.nat()), (sessions, keys) => {
        const expected = sessions.map(({ from, reports, hasEnded }) => ({
          from: new Date(START + from * MINUTE),
          to: new Date(START + (from + Math.max(0, ...reports)) * MINUTE),
          hasEnded,
        }));
        const events = sessions.flatMap(({ from, reports, hasEnded, tellsStart }, number) => {
          const last = Math.max(0, ...reports);
          return [0, ...reports].map((minutes) => {
            const at = START + (from + minutes) * MINUTE;
            return accounting(at, {
              acct_session_id: `s-${number}`,
              acct_session_time: String(minutes * 60),
              ...(tellsStart && { acct_start_time: new Date(START + from * MINUTE).toISOString() }),
              ...(hasEnded && minutes === last && { acct_terminate_cause: 'User-Request' }),
            });
          });
        });
        const shuffled = events
          .map((event) => ({ event, key: Number(keys.next().value) }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ event }) => event);
        const found = sessionsOf(shuffled).map(({ from, to, hasEnded }) => ({ from, to, hasEnded }));
        const inOrder = (a: (typeof found)[number], b: (typeof found)[number]) =>
          a.from.getTime() - b.from.getTime() || a.to.getTime() - b.to.getTime();
        expect(found.toSorted(inOrder).map(({ from, to }) => [from, to])).toEqual(
          expected.toSorted(inOrder).map(({ from, to }) => [from, to]),
        );
        expect(found.filter(({ hasEnded }) => hasEnded)).toHaveLength(
          expected.filter(({ hasEnded }) => hasEnded).length,
        );
      }),
    );
  });

  it('are read from one event alone, and never end before they start', () => {
    const stop = new Date(START - 60 * MINUTE).toISOString();
    expect(sessionsOf([accounting(START, { acct_session_time: '600' })])).toMatchObject([
      { from: new Date(START - 10 * MINUTE), to: new Date(START), hasEnded: false },
    ]);
    const [one] = sessionsOf([accounting(START, { acct_stop_time: stop })]);
    expect(one?.to.getTime()).toBeGreaterThanOrEqual(one?.from.getTime() ?? Infinity);
  });
});

const sightings = fc.array(
  fc.record({ minute: fc.nat(300), apMac: fc.constantFrom('a', 'b', null) }).map(({ minute, apMac }) => ({
    occurredAt: new Date(START + minute * MINUTE),
    apMac,
  })),
  { maxLength: 30 },
);

it('stays contain each sighting once, at its access point, in order and without overlap', () => {
  fc.assert(
    fc.property(sightings, (given) => {
      const stays = staysOf(given);
      expect(stays.reduce((sum, stay) => sum + stay.sightings, 0)).toBe(given.length);
      for (const { occurredAt, apMac } of given) {
        expect(
          stays.some((stay) => stay.apMac === apMac && stay.from <= occurredAt && occurredAt <= stay.to),
        ).toBe(true);
      }
      for (const [index, stay] of stays.entries()) {
        expect(stay.from <= stay.to).toBe(true);
        const next = stays[index + 1];
        if (next === undefined) continue;
        expect(stay.to <= next.from).toBe(true);
        const isAway = next.from.getTime() - stay.to.getTime() > AWAY_MS;
        expect(next.apMac !== stay.apMac || isAway).toBe(true);
      }
    }),
  );
});
