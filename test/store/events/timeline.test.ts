import { beforeAll, describe, expect, it } from 'vitest';
import {
  accessPointNames,
  accessPointPositions,
  clientPositions,
} from '../../../src/store/events/positions.ts';
import { summarizeAccessPoint, summarizeClient, summarizeUser } from '../../../src/store/events/timeline.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { storeDeliveries } from '../../support/actions.ts';

const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const at = (hours: number) => new Date(START + hours * HOUR);

const CLIENT = 'aa:bb:cc:dd:ee:ff';
const OTHER_CLIENT = 'aa:bb:cc:dd:ee:00';
const AP = '00:11:22:33:44:55';
const OTHER_AP = '00:11:22:33:44:66';

const authentication = (hours: number, client: string, ap: string, username = 'ann') => ({
  timeStamp: at(hours).getTime(),
  username,
  callingStationId: client,
  calledStationId: `${ap}:corp`,
  ssid: 'corp',
  nasIdentifier: ap === AP ? `ap-at-${hours}` : undefined,
});

const observation = (hours: number, rssi: number, x: number, y: number) => ({
  clientMac: CLIENT,
  seenEpoch: at(hours).getTime(),
  ssid: 'guest',
  rssi,
  x,
  y,
  unc: 5,
  lat: 47.5,
  lng: 8.5,
});

const test = useDatabase();
beforeAll(async () => {
  const observations = [observation(5, -40, 10, 0), observation(6, -60, 21, 11), observation(7, -40, 10, 0)];
  await storeDeliveries(
    test.db,
    queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userName: 'ann', timeStamp: at(1).getTime() })]),
    queuedDelivery('AUTHENTICATION_LOG_ALL', [
      authentication(2, CLIENT, AP),
      authentication(3, CLIENT, AP),
      authentication(4, OTHER_CLIENT, OTHER_AP),
      authentication(4.5, CLIENT, OTHER_AP, 'bob'),
    ]),
    queuedDelivery('LOCATION_AP_CENTRIC', [{ apMac: AP, observations }]),
    queuedDelivery('LOCATION_AP_CENTRIC', [
      { apMac: OTHER_AP, observations: [{ clientMac: CLIENT, seenEpoch: at(8).getTime(), rssi: -50 }] },
    ]),
  );
});

describe('the summary of a user', () => {
  it('counts by type, and names the devices last seen and the access points most used', async () => {
    expect(await summarizeUser(test.db, ALL_SOURCES, 'ann', at(0), at(24))).toEqual({
      firstSeen: at(1),
      lastSeen: at(4),
      countsByType: { AUDIT_LOG_ALL: 1, AUTHENTICATION_LOG_ALL: 3 },
      devices: [
        { name: OTHER_CLIENT, count: 1, lastSeen: at(4) },
        { name: CLIENT, count: 2, lastSeen: at(3) },
      ],
      accessPoints: [
        { name: AP, count: 2, lastSeen: at(3) },
        { name: OTHER_AP, count: 1, lastSeen: at(4) },
      ],
      isComplete: true,
    });
  });

  it('knows its time range: the start included, the end not', async () => {
    const { firstSeen, lastSeen, countsByType } = await summarizeUser(
      test.db,
      ALL_SOURCES,
      'ann',
      at(2),
      at(4),
    );
    expect({ firstSeen, lastSeen, countsByType }).toEqual({
      firstSeen: at(2),
      lastSeen: at(3),
      countsByType: { AUTHENTICATION_LOG_ALL: 2 },
    });
  });
});

it('the summary of a client names its users, access points and networks', async () => {
  expect(await summarizeClient(test.db, ALL_SOURCES, CLIENT, at(0), at(24))).toEqual({
    firstSeen: at(2),
    lastSeen: at(8),
    countsByType: { AUTHENTICATION_LOG_ALL: 3, LOCATION_AP_CENTRIC: 4 },
    users: [
      { name: 'bob', count: 1, lastSeen: at(4.5) },
      { name: 'ann', count: 2, lastSeen: at(3) },
    ],
    accessPoints: [
      { name: AP, count: 5, lastSeen: at(7) },
      { name: OTHER_AP, count: 2, lastSeen: at(8) },
    ],
    ssids: [
      { name: 'guest', count: 3, lastSeen: at(7) },
      { name: 'corp', count: 3, lastSeen: at(4.5) },
    ],
    isComplete: true,
  });
});

it('the summary of an access point counts its clients and names its networks, from a time on', async () => {
  const summarize = (mac: string, hours: number) =>
    summarizeAccessPoint(test.db, ALL_SOURCES, mac, at(hours));
  expect(await summarize(AP, 0)).toEqual({ clients: 1, ssids: ['guest', 'corp'] });
  expect(await summarize(AP, 3)).toEqual({ clients: 1, ssids: ['guest', 'corp'] });
  expect(await summarize(AP, 3.5)).toEqual({ clients: 1, ssids: ['guest'] });
  expect(await summarize(OTHER_AP, 0)).toEqual({ clients: 2, ssids: ['corp'] });
  expect(await summarizeAccessPoint(test.db, [], AP, at(0))).toEqual({ clients: 0, ssids: [] });
});

it('an access point has the name that it had last', async () => {
  const macs = [AP, OTHER_AP, AP];
  expect(await accessPointNames(test.db, ALL_SOURCES, macs)).toEqual(new Map([[AP, 'ap-at-3']]));
  expect(await accessPointNames(test.db, [], macs)).toEqual(new Map());
});

describe('positions', () => {
  it('of a client come newest first, with what is known of each', async () => {
    const positions = await clientPositions(test.db, ALL_SOURCES, CLIENT, { since: at(0), until: at(24) }, 2);
    const unknown = { x: null, y: null, unc: null, lat: null, lng: null };
    expect(positions).toEqual([
      { occurredAt: at(8), apMac: OTHER_AP, rssi: -50, ...unknown },
      { occurredAt: at(7), apMac: AP, rssi: -40, x: 10, y: 0, unc: 5, lat: 47.5, lng: 8.5 },
    ]);
  });

  it('of an access point are the centre of what it heard, the strong signals counting more', async () => {
    const [position, ...others] = await accessPointPositions(test.db, ALL_SOURCES, [AP, OTHER_AP]);
    expect(others).toEqual([]);
    // Twenty decibels are a tenth of the amplitude: (2 * 10 + 0.1 * 21) / 2.1, (0.1 * 11) / 2.1.
    expect(position).toMatchObject({ apMac: AP, observations: 3 });
    expect(position?.x).toBeCloseTo(22.1 / 2.1);
    expect(position?.y).toBeCloseTo(1.1 / 2.1);
  });
});
