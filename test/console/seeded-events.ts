import { sql } from 'kysely';
import type { Db } from '../../src/store/server/database.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

const MINUTE = 60_000;

/** The first of the seeded events is of this time. */
const START = Date.UTC(2026, 0, 20, 8);

/** A range that holds all of them. */
export const RANGE = { since: '2026-01-20T08:00:00.000Z', until: '2026-01-20T12:00:00.000Z' };

/** One a minute, of two users in turn. */
export const AUDIT_EVENTS = 120;

export const ROAMING_CLIENT = 'aa:bb:cc:dd:ee:ff';
export const UNPLACED_CLIENT = 'aa:bb:cc:dd:ee:00';
export const ACCESS_POINTS = ['00:11:22:33:44:55', '00:11:22:33:44:66'] as const;

/** A number of more digits than a double keeps. */
export const LONG_NUMBER = '12345678901234567890.120';

/** Stores audit events of ann and bob, a client that walks, another that is not placed, and a log-in of ann. */
export async function seedEvents(db: Db): Promise<void> {
  const [first, second] = ACCESS_POINTS;
  const audits = Array.from({ length: AUDIT_EVENTS }, (_, n) =>
    auditRecord({
      timeStamp: START + n * MINUTE,
      userName: n % 2 === 0 ? 'ann' : 'bob',
      code: 10_000 + (n % 3),
      description: `change ${n}, "quoted"`,
      big: JSON.rawJSON(LONG_NUMBER),
    }),
  );
  const walk = Array.from({ length: 10 }, (_, n) => ({
    apMac: n < 5 ? first : second,
    observations: [
      { clientMac: ROAMING_CLIENT, seenEpoch: START + n * MINUTE, rssi: -50 - n, x: n * 4, y: n * 2, unc: 5 },
    ],
  }));
  const heard = Array.from({ length: 4 }, (_, n) => ({
    clientMac: UNPLACED_CLIENT,
    seenEpoch: START + n * MINUTE,
    deviceObservers: [
      { apMac: first, rssi: n < 2 ? -40 : -80 },
      { apMac: second, rssi: -60 },
    ],
  }));
  const logIn = {
    timestamp: START + 150 * MINUTE,
    username: 'ann',
    calling_station_id: 'AA-BB-CC-DD-EE-FF',
    called_station_id: '00-11-22-33-44-55:corp',
    ssid: 'corp',
    nas_identifier: 'ap-lobby',
    reply: 'Access-Accept',
  };
  await storeDeliveries(
    db,
    queuedDelivery('AUDIT_LOG_ALL', audits),
    queuedDelivery('LOCATION_AP_CENTRIC', walk, { source: 'branch' }),
    queuedDelivery('LOCATION_CLIENT_CENTRIC', heard),
    queuedDelivery('AUTHENTICATION_LOG_ALL', [logIn]),
  );
}

/** Stores so many audit events of 3 kB each, of the source `bulk`, before all others: more than sockets hold. */
export async function seedBulk(db: Db, count: number): Promise<void> {
  await sql`insert into audit_events
    (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, user_name, payload)
    select '2025-06-01'::timestamptz + n * interval '1 second', now(), gen_random_uuid(), gen_random_uuid(), 'bulk',
      'AUDIT_LOG_ALL', 'webhook', 'bulk', jsonb_build_object('pad', repeat('x', 3000))
    from generate_series(1, ${count}) as n`.execute(db);
}
