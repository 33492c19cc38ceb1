import { rollUpSeen } from '../../src/store/counts/roll-up-seen.ts';
import type { Db } from '../../src/store/server/database.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { untilSeen } from '../support/until-seen.ts';
import { waitFor } from '../support/wait-for.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A client of Dina that moves between the access points. */
export const DINAS_CLIENT = '02:00:5e:10:00:01';
const ERASED_CLIENT = '02:00:5e:10:00:02';
export const LOBBY = 'c4:13:e2:00:00:01';
const CAFE = 'c4:13:e2:00:00:02';

/**
 * Stores three weeks of Hana, who administers and works in the network, of Dina, whose private key Hana creates, and of
 * twenty guests; and counts them for the directories.
 */
export async function seedPeople(db: Db): Promise<void> {
  const now = Date.now();
  const access = (username: string, client: string, ap: string, at: number) => ({
    timestamp: at,
    username,
    calling_station_id: client,
    called_station_id: `${ap}:corp`,
    ssid: 'corp',
    nas_identifier: ap === LOBBY ? 'AP-Lobby' : 'AP-Cafe',
  });
  const audit = (at: number, code: number, description: string, config: object | null = null) =>
    auditRecord({ timeStamp: at, userName: 'Hana.Ito@example.com', code, description, config });
  const days = Array.from({ length: 21 }, (_, index) => index);
  const session = (day: number, start: number, hours: number, ap: string) => {
    const from = now - day * DAY - start * HOUR;
    const record = { ...access('dina', DINAS_CLIENT, ap, from), acct_session_id: `s-${day}-${start}` };
    return [
      { ...record, acct_start_time: new Date(from).toISOString(), acct_session_time: 0 },
      {
        ...record,
        timestamp: from + hours * HOUR,
        acct_stop_time: new Date(from + hours * HOUR).toISOString(),
        acct_session_time: hours * 3600,
      },
    ];
  };
  await storeDeliveries(
    db,
    queuedDelivery(
      'AUDIT_LOG_ALL',
      days.flatMap((day) => [
        audit(now - day * DAY - 2 * HOUR, 10_001, 'User Hana.Ito@example.com logged in'),
        ...Array.from({ length: day % 4 }, (_, n) =>
          audit(now - day * DAY - HOUR - n * 1000, 7, 'Changed the policy corp', { policy: 'corp' }),
        ),
      ]),
    ),
    queuedDelivery('AUDIT_LOG_ALL', [
      audit(now - 3 * HOUR, 40_001, 'PPSK user dina was created'),
      audit(now - 5 * DAY, 40_003, 'PPSK user erik was deleted'),
    ]),
    queuedDelivery(
      'AUTHENTICATION_LOG_ALL',
      days.flatMap((day) => [
        { ...access('dina', DINAS_CLIENT, LOBBY, now - day * DAY - 9 * HOUR), reply: 'Access-Accept' },
        ...Array.from({ length: 12 }, (_, n) => ({
          ...access('dina', DINAS_CLIENT, CAFE, now - day * DAY - 4 * HOUR - n * 5000),
          reply: 'Access-Reject',
          reject_reason: 'wrong password',
        })),
      ]),
    ),
    queuedDelivery(
      'AUTHENTICATION_LOG_ALL',
      Array.from({ length: 60 }, (_, n) => ({
        ...access(
          `guest-${String(n).padStart(2, '0')}`,
          `02:00:5e:20:00:${n.toString(16).padStart(2, '0')}`,
          n % 2 === 0 ? LOBBY : CAFE,
          now - n * 7 * HOUR,
        ),
        reply: 'Access-Accept',
      })),
    ),
    queuedDelivery(
      'ACCOUNTING_LOG_ALL',
      days.slice(0, 6).flatMap((day) => [...session(day, 9, 3, LOBBY), ...session(day, 5, 2, CAFE)]),
    ),
    queuedDelivery('GDPR_LOG_ALL', [
      {
        timestamp: now - 2 * HOUR,
        username: 'Hana.Ito@example.com',
        client_mac: ERASED_CLIENT,
        category: 'deletion',
        status: 'done',
        description: 'Client data was deleted',
      },
    ]),
    queuedDelivery('EMAIL_LOG_ALL', [{ timestamp: now - 3 * HOUR, username: 'dina', status: 'success' }]),
    queuedDelivery(
      'LOCATION_AP_CENTRIC',
      Array.from({ length: 24 }, (_, n) => ({
        apMac: n < 10 ? LOBBY : CAFE,
        observations: [
          {
            clientMac: DINAS_CLIENT,
            seenEpoch: now - 9 * HOUR + n * 10 * MINUTE,
            rssi: -45 - (n % 7),
            x: 4 + n * 1.8 + (n % 3),
            y: 6 + 5 * Math.sin(n / 3),
            unc: 3,
            ssid: 'corp',
          },
        ],
      })),
    ),
  );
  await countPeople(db);
}

/** Counts everyone that the events name for the directories. */
export async function countPeople(db: Db): Promise<void> {
  await untilSeen(db);
  await waitFor(async () => (await rollUpSeen(db))?.isBehind === false);
}
