import { MESSAGE_TYPES, type MessageType } from '../../../src/events/domain.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { storeDeliveries } from '../../support/actions.ts';

/** The events lie in the days around here; those of the first and the last in no month's partition. */
export const START = Date.UTC(2026, 0, 20);
export const DAY = 86_400_000;

/** The months from January to May have partitions. */
const PARTITIONED = new Date(START + 20 * DAY);

/** A few of each: a condition finds some events, and two conditions sometimes the same. */
export const POOL = {
  sources: ['default', 'branch'],
  users: ['ann', 'Bob', '=cmd|calc'],
  codes: ['10001', '10002', '-7'],
  macs: ['00:11:22:33:44:55', 'aa:bb:cc:dd:ee:ff', 'aa:bb:cc:dd:ee:00'],
  devices: ['ap-1', '17', '9223372036854775807', 'SN-5'],
  texts: ['Quick', 'brown_', '50%', 'Grüße', 'ZÜRICH', '\\', 'a\r\nb', '"', "'", '@'],
  orgs: ['0', '5'],
} as const;

/** Of each type and source. */
const RECORDS = 40;

/** How many events `storeVariedEvents` stores: one for each record, and two for those of `LOCATION_CLIENT_CENTRIC`. */
export const STORED = POOL.sources.length * (MESSAGE_TYPES.length + 1) * RECORDS;

/** Stores events of all types, with values of the pool, among them characters that are hard to write. */
export async function storeVariedEvents(db: Db): Promise<void> {
  await maintainPartitions(db, PARTITIONED, {});
  for (const [place, source] of POOL.sources.entries()) {
    const deliveries = MESSAGE_TYPES.map((type, index) => {
      const records = Array.from({ length: RECORDS }, (_, n) => toRecord(type, n * 11 + index * 5 + place));
      return queuedDelivery(type, records, { source });
    });
    await storeDeliveries(db, ...deliveries);
  }
}

function toRecord(type: MessageType, seed: number): Record<string, unknown> {
  const pick = <T>(values: readonly T[], step: number) => values[Math.floor(seed / step) % values.length];
  // Several events share a millisecond, so that their ids order them.
  const timeStamp = START + ((seed % 37) - 2) * 4 * DAY + (seed % 3);
  const client = seed % 13 === 0 ? null : pick(POOL.macs, 1);
  const ap = seed % 17 === 0 ? null : pick(POOL.macs, 3);
  const members = {
    timeStamp,
    orgId: Number(pick(POOL.orgs, 2)),
    userName: pick(POOL.users, 2),
    description: `${pick(POOL.texts, 1)} ${seed}`,
  };
  const seen = { seenEpoch: timeStamp, rssi: -50, x: 1.5, y: 2.25, ssid: pick(POOL.texts, 2) };
  switch (type) {
    case 'LOCATION_AP_CENTRIC':
      return { orgId: members.orgId, apMac: ap, observations: [{ clientMac: client, ...seen }] };
    case 'LOCATION_CLIENT_CENTRIC':
      return { clientMac: client, seenEpoch: timeStamp, deviceObservers: [{ apMac: ap }, { apMac: client }] };
    case 'AUDIT_LOG_ALL':
      return {
        ...members,
        code: Number(pick(POOL.codes, 1)),
        hostNames: seed % 2 === 0 ? null : [pick(POOL.devices, 1), 'other, "name"'],
        deviceIds: seed % 3 === 0 ? null : [17],
      };
    case 'GDPR_LOG_ALL':
      return {
        ...members,
        mac: client,
        id: seed,
        category: pick(['Delete client data', 'gdpr_download', 'DELETION', 'delete or download', null], 1),
        status: pick(['Completed', ' failed', 'in progress'], 2),
      };
    case 'ACCOUNTING_LOG_ALL':
    case 'AUTHENTICATION_LOG_ALL': {
      const stations = { callingStationId: client, calledStationId: ap === null ? null : `${ap}:guest` };
      const result =
        type === 'AUTHENTICATION_LOG_ALL'
          ? { reply: pick(['Access-Accept ', 'ACCESS-REJECT', null], 1), rejectReason: pick(['', 'late'], 5) }
          : {
              acctSessionTime: pick([0, 60, null], 1),
              acctInputOctets: pick([0, 5, null], 2),
              acctTerminateCause: pick([null, '', 'User-Request'], 4),
            };
      return { ...members, id: seed, ...stations, deviceSerialNumber: pick(POOL.devices, 2), ...result };
    }
    case 'CREDENTIAL_LOG_ALL':
    case 'EMAIL_LOG_ALL':
    case 'SMS_LOG_ALL':
    case 'OTHER':
      return { ...members, id: seed };
    case 'ALERT': {
      const source = { source_id: pick(POOL.devices, 1), source_name: pick(POOL.devices, 2) };
      const { orgId, description } = members;
      return { id: seed, timestamp: timeStamp, orgId, summary: description, source };
    }
  }
}
