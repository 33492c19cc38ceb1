import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { startAdmin } from '../support/admin.ts';
import type { RunningAdmin } from '../support/admin.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import {
  ACCESS_POINTS,
  RANGE,
  ROAMING_CLIENT,
  seedEvents,
  storeEvents,
  UNPLACED_CLIENT,
} from './seeded-events.ts';

let test: TestDatabase;
let admin: RunningAdmin;
beforeAll(async () => {
  test = await createTestDatabase();
  await seedEvents(test.db);
  admin = await startAdmin([peopleArea(test)], test.db);
});
afterAll(async () => {
  await admin.close();
  await test.drop();
});

const range = `since=${RANGE.since}&until=${RANGE.until}`;

/** The looks in the operator log, newest first. */
async function looks(): Promise<unknown[]> {
  const rows = await test.db
    .selectFrom('operator_log')
    .select(['subject', 'details'])
    .where('action', '=', 'timeline.read')
    .orderBy('id', 'desc')
    .execute();
  return rows;
}

describe('a look at a timeline is in the operator log', () => {
  it.each([
    ['of a user over the API', `/api/v1/users/ann?${range}`, 'ann'],
    ['of a client over the API', `/api/v1/clients/AABB-CCDD-EEFF?${range}`, ROAMING_CLIENT],
    ['of positions', `/api/v1/clients/${ROAMING_CLIENT}/positions?${range}`, ROAMING_CLIENT],
    ['of a user in the console', `/people/user?name=ann&${range}`, 'ann'],
    ['of a client in the console', `/people/client?mac=${ROAMING_CLIENT}&${range}`, ROAMING_CLIENT],
  ])('%s', async (_what, path, subject) => {
    const before = await looks();
    expect((await fetch(`${admin.url}${path}`)).status).toBe(200);
    const after = await looks();
    expect(after).toHaveLength(before.length + 1);
    expect(after[0]).toMatchObject({ subject, details: { since: RANGE.since, until: RANGE.until } });
  });
});

describe('people and devices over the API', () => {
  it('tell of a user when, in what and with what he was seen', async () => {
    expect(await admin.get(`/users/ann?${range}`)).toMatchObject({
      first_seen: '2026-01-20T08:00:00.000Z',
      last_seen: '2026-01-20T10:30:00.000Z',
      counts_by_type: { AUDIT_LOG_ALL: 60, AUTHENTICATION_LOG_ALL: 1 },
      devices: [{ name: ROAMING_CLIENT, count: 1 }],
      access_points: [{ name: ACCESS_POINTS[0], count: 1 }],
    });
  });

  it('tell of a client, in any notation, with whom and where it was seen', async () => {
    expect(await admin.get(`/clients/AABB-CCDD-EEFF?${range}`)).toMatchObject({
      mac: ROAMING_CLIENT,
      users: [{ name: 'ann' }],
      ssids: [{ name: 'corp', count: 1 }],
      access_points: [
        { name: ACCESS_POINTS[0], count: 6 },
        { name: ACCESS_POINTS[1], count: 5 },
      ],
    });
  });

  it('give the positions of a client, newest first, and the names of access points', async () => {
    const answer = await admin.get(`/clients/${ROAMING_CLIENT}/positions?${range}&limit=6`);
    expect(answer).toMatchObject({
      items: [9, 8, 7, 6, 5, 4].map((n) => ({ x: n * 4, y: n * 2, rssi: -50 - n })),
      access_points: [
        { ap_mac: ACCESS_POINTS[0], name: 'ap-lobby' },
        { ap_mac: ACCESS_POINTS[1], name: null },
      ],
    });
  });
});

describe('the pages of people and devices', () => {
  it('find a user, and a client by its MAC in any notation, and say what to do when nobody is found', async () => {
    await storeEvents(test.db, [
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userName: 'zoe' })]),
      queuedDelivery('LOCATION_CLIENT_CENTRIC', [
        { clientMac: '020000000001', seenEpoch: Date.now(), deviceObservers: [] },
      ]),
    ]);
    expect(await admin.page('/people?q=0200.0000.0001')).toContain(
      '/people/client?mac=02%3A00%3A00%3A00%3A00%3A01&amp;since=30d',
    );
    const found = await admin.page('/people?q=zoe');
    expect(found).toContain('/people/user?name=zoe&amp;since=30d');
    expect(found).toContain('1 event in the last 30 days, last seen <time');
    expect(await admin.page('/people?q=nobody')).toContain('No events of user nobody');
  });

  it('show a timeline by day, by type when that is asked', async () => {
    const page = await admin.page(`/people/user?name=ann&${range}`);
    expect(page).toContain('<h3>2026-01-20</h3>');
    expect(page.match(/href="\/events\/[0-9a-f-]{36}\?at=/g)).toHaveLength(50);
    expect(page).toContain('rel="next"');
    const logIns = await admin.page(`/people/user?name=ann&${range}&type=AUTHENTICATION_LOG_ALL`);
    expect(logIns.match(/href="\/events\/[0-9a-f-]{36}\?at=/g)).toHaveLength(1);
    expect(logIns).toContain('Access-Accept · corp');
  });

  it('draw where a client was: a dot for each time, a line between two, fading, and the access points', async () => {
    const page = await admin.page(`/people/client?mac=${ROAMING_CLIENT}&${range}`);
    expect(page.match(/<circle class="place"/g)).toHaveLength(10);
    expect(page.match(/<line class="way"/g)).toHaveLength(9);
    const opacities = [...page.matchAll(/class="place"[^>]*opacity="([^"]+)"/g)].map((match) =>
      Number(match[1]),
    );
    expect(opacities).toEqual(opacities.toSorted((a, b) => a - b));
    expect(opacities.at(-1)).toBe(1);
    expect(page).toContain('>ap-lobby</text>');
    expect(page).toContain(`>${ACCESS_POINTS[1]}</text>`);
    expect(page.match(/<td class="number"/g)?.length).toBeGreaterThanOrEqual(40);
  });

  it('list the access points in order where nothing places the client', async () => {
    const page = await admin.page(`/people/client?mac=${UNPLACED_CLIENT}&${range}`);
    expect(page).toContain('contain no positions');
    expect(page.slice(page.indexOf('<main'))).not.toContain('<svg');
    const table = page.slice(page.indexOf('Strongest access points'), page.indexOf('Timeline'));
    expect(table.indexOf(ACCESS_POINTS[1])).toBeLessThan(table.indexOf(ACCESS_POINTS[0]));
    expect(table).toContain(ACCESS_POINTS[0]);
  });

  it('say what is wrong with a MAC address or a range', async () => {
    expect(await admin.page('/people/client?mac=xyz')).toContain('must have 12 hexadecimal digits');
    expect(await admin.page('/people/user?name=ann&since=soon')).toMatch(/From \(UTC\)\s+[^<]*time such as/);
  });
});
