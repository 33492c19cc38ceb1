import { z } from 'zod';
import { describe, expect, it } from 'vitest';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { ACCESS_POINTS, RANGE, ROAMING_CLIENT, seedEvents, UNPLACED_CLIENT } from './seeded-events.ts';
import { countPeople } from './seeded-people.ts';
import { useConsole } from '../support/use-console.ts';

/** A client whose data was deleted. */
const ERASED = '02:00:00:00:00:09';

/** Parsed anew: times are texts here. */
const directorySchemaForTests = z.object({
  items: z.array(z.object({ kind: z.string(), key: z.string(), name: z.string(), last_seen: z.string() })),
  next_cursor: z.string().nullable(),
});

const admin = useConsole((db) => [peopleArea({ db })], { seed: seedEvents });

const range = `since=${RANGE.since}&until=${RANGE.until}`;

/** The looks in the operator log, newest first. */
async function looks(): Promise<unknown[]> {
  const rows = await admin.db
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
    ['of a client in the console', `/devices/client?mac=${ROAMING_CLIENT}&${range}`, ROAMING_CLIENT],
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
  it('list whom the events name, in any case and notation, and say what to do if it is nobody', async () => {
    await storeDeliveries(
      admin.db,
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ userName: 'Zoe' }), auditRecord({ userName: 'zoe' })]),
      queuedDelivery('LOCATION_CLIENT_CENTRIC', [
        {
          clientMac: '020000000001',
          seenEpoch: Date.now(),
          deviceObservers: [{ apMac: ACCESS_POINTS[0], rssi: -40 }],
        },
      ]),
    );
    await countPeople(admin.db);
    expect(await admin.get('/people?q=ZO')).toMatchObject({
      items: [{ kind: 'administrator', key: 'zoe', events: 2, logins: 2, changes: 0, keys: 0 }],
      next_cursor: null,
    });
    expect(await admin.get('/devices?q=0200.0000')).toMatchObject({
      items: [{ kind: 'client', key: '02:00:00:00:00:01', events: 1 }],
    });
    // An access point is found by its host name, and by its address.
    for (const q of ['AP-lob', '0011.2233.4455'])
      expect(await admin.get(`/devices?q=${q}`)).toMatchObject({
        items: [{ kind: 'access point', key: ACCESS_POINTS[0], name: 'ap-lobby' }],
      });
    expect(await admin.page('/people?q=zo')).toContain('/people/user?name=');
    expect(await admin.page('/people?q=nobody')).toContain('No people');
  });

  it.each(['seen', 'silent', 'name'])('list each entry of both kinds once in the order %s', async (order) => {
    const entries: { kind: string; key: string; label: string; last_seen: string }[] = [];
    for (let cursor = ''; ;) {
      const page = directorySchemaForTests.parse(
        await admin.get(`/devices?order=${order}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`),
      );
      entries.push(...page.items.map((item) => ({ ...item, label: item.name.toLowerCase() })));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(entries.map(({ kind, key }) => `${kind} ${key}`).toSorted()).toEqual([
      `access point ${ACCESS_POINTS[0]}`,
      `access point ${ACCESS_POINTS[1]}`,
      'client 02:00:00:00:00:01',
      `client ${UNPLACED_CLIENT}`,
      `client ${ROAMING_CLIENT}`,
    ]);
    const ranks = entries.map((entry) => (order === 'name' ? entry.label : entry.last_seen));
    expect(ranks).toEqual(order === 'seen' ? ranks.toSorted().toReversed() : ranks.toSorted());
  });

  it('tell access points that are silent, and the times in which one was', async () => {
    const [silent, heard] = ['00:11:22:33:44:77', '00:11:22:33:44:88'];
    const seen = (apMac: string, hours: number) => ({
      apMac,
      observations: [{ clientMac: ROAMING_CLIENT, seenEpoch: Date.now() - hours * 3_600_000, rssi: -50 }],
    });
    await storeDeliveries(
      admin.db,
      queuedDelivery('LOCATION_AP_CENTRIC', [
        ...[30, 29.9, 29.8, 20].map((hours) => seen(silent, hours)),
        seen(heard, 0.5),
      ]),
    );
    await countPeople(admin.db);
    // Those of January are not of the last 30 days.
    expect(await admin.get('/devices?silent=1h')).toMatchObject({ items: [{ key: silent }] });
    expect(await admin.get('/people?silent=1h')).toMatchObject({ items: [] });
    expect(await admin.get('/devices?silent=20m&order=silent')).toMatchObject({
      items: [{ key: silent }, { key: heard }],
    });
    const page = await admin.page('/devices');
    expect(page).toContain('1 access point silent');
    expect(page.match(/badge warn">silent</g)).toHaveLength(1);
    const chart = await admin.page(`/devices/access-point?mac=${silent}`);
    expect(chart).toContain('Silent for an hour or more 3 times');
    expect(await admin.page(`/devices/access-point?mac=${ACCESS_POINTS[1]}`)).not.toContain('Silence');
  });

  it('show a timeline, by type when that is asked', async () => {
    const page = await admin.page(`/people/user?name=ANN&${range}`);
    expect(page.match(/href="\/events\/[0-9a-f-]{36}\?at=/g)).toHaveLength(50);
    expect(page).toContain('rel="next"');
    const logIns = await admin.page(`/people/user?name=ann&${range}&type=AUTHENTICATION_LOG_ALL`);
    expect(logIns.match(/href="\/events\/[0-9a-f-]{36}\?at=/g)).toHaveLength(1);
    expect(logIns).toContain('ann was accepted on corp');
  });

  it('tell what someone did from what happened to a client or a user', async () => {
    const at = Date.parse(RANGE.since) + 60_000;
    await storeDeliveries(
      admin.db,
      queuedDelivery('GDPR_LOG_ALL', [
        { timestamp: at, username: 'ann', client_mac: ERASED, category: 'deletion' },
      ]),
      queuedDelivery('AUDIT_LOG_ALL', [
        auditRecord({ timeStamp: at, userName: 'bob', code: 40_001, description: 'PPSK user eva created' }),
      ]),
    );
    const parts = async (path: string, heading: string) => {
      const page = await admin.page(`${path}&${range}`);
      const [did = '', affected = ''] = page.slice(page.indexOf(heading)).split('Affected by</h2>');
      return { page, did, affected };
    };
    const client = await parts(`/devices/client?mac=${ERASED}`, 'Activity</h2>');
    expect(client.affected).toContain('Personal data deletion for client');
    expect(client.did).toContain('No events in this range');
    const ann = await parts('/people/user?name=ann&type=GDPR_LOG_ALL', 'Activity</h2>');
    expect(ann.did).toContain('Personal data deletion for client');
    expect(await admin.get(`/users/ann?${range}`)).not.toMatchObject({ devices: [{ name: ERASED }] });
    expect(await admin.get(`/clients/${ERASED}?${range}`)).toMatchObject({ users: [] });
    const eva = await parts('/people/user?name=eva', 'Activity</h2>');
    expect(eva.did).toContain('No events in this range');
    expect(eva.affected).toContain('PPSK user eva created');
  });

  it('show the facts of an access point', async () => {
    const page = await admin.page(`/devices/access-point?mac=0011-2233-4455`);
    expect(page).toContain('<h1>ap-lobby</h1>');
    expect(page).toMatch(/Clients in the last day<\/dt><dd><a [^>]*>1<\/a>/);
  });

  it('list the access points that received a client, the latest first', async () => {
    const page = await admin.page(`/devices/client?mac=${UNPLACED_CLIENT}&${range}`);
    const table = page.slice(page.indexOf('Strongest access points'), page.indexOf('Activity</h2>'));
    expect(table.indexOf(ACCESS_POINTS[1])).toBeLessThan(table.indexOf(ACCESS_POINTS[0]));
    expect(table).toContain(ACCESS_POINTS[0]);
  });

  it('say what is wrong with a MAC address or a range', async () => {
    for (const path of ['/devices/client', '/devices/access-point'])
      await expect(admin.page(`${path}?mac=xyz`)).rejects.toThrow('12 hexadecimal digits');
    const page = await admin.page('/people/user?name=ann&since=soon');
    expect(page).toContain('time such as');
    expect(page).toContain('Seen in this range');
  });
});
