import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { createCall, logIn } from '../../emulator/test/call.ts';
import { createCloudClient } from '../../src/cloud/client.ts';
import { eventsArea } from '../../src/console/events/events-area.ts';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { createRefresher } from '../../src/inventory/refresh.ts';
import type { Db } from '../../src/store/server/database.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { useConsole } from '../support/use-console.ts';
import { nothingKnown } from '../support/trust.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 20, 8);
const CLIENT = 'aa:bb:cc:dd:ee:ff';
const RANGE = 'since=2026-01-20T07:00Z&until=2026-01-20T12:00Z';

/** The access point that is renamed, and its floor. */
let organization: number;
let ap: { mac: string; floor: number };

/** A cloud with the same devices as every other one of these, and a call of its API. */
async function startCloud() {
  const emulator = createEmulator({ rate: 0, dialect: 'spec', scale: { devices: 20, clients: 5, users: 5 } });
  const url = await emulator.listen(0);
  const { username, password } = EMULATOR_LOGINS.administrator;
  const { inventory } = createCloudClient({ baseUrl: url, credentials: { username, password } });
  return { emulator, inventory, call: createCall(url, await logIn(url, 'administrator')) };
}

/**
 * In the cloud of the source `default`, an access point and its floor are renamed between 8:00 and 10:00; that of the source
 * `branch` has the same devices and stays as it is. The access points see a client before and after.
 */
async function seed(db: Db): Promise<void> {
  const clouds = { default: await startCloud(), branch: await startCloud() };
  let now = START;
  const refresher = createRefresher({
    db,
    clock: { now: () => now, sleep: async () => undefined },
    holder: randomUUID(),
    logger: pino({ level: 'silent' }),
  });
  async function refresh() {
    for (const [source, { inventory }] of Object.entries(clouds))
      await refresher.round({ source, inventory });
  }
  const { call } = clouds.default;
  try {
    await refresh();
    const listed = await call('GET', '/devices?views=full&fields=id&limit=1');
    const [device] = z
      .object({ data: z.tuple([z.object({ id: z.int(), mac_address: z.string(), location_id: z.int() })]) })
      .parse(listed.body).data;
    ap = { mac: device.mac_address, floor: device.location_id };
    const context = await call('GET', '/hiq/context');
    organization = z.object({ creating_org_id: z.int() }).parse(context.body).creating_org_id;
    await call('PUT', `/devices/${device.id}/hostname?hostname=AP-Lobby`);
    await call('PUT', `/locations/floor/${ap.floor}`, { body: { name: 'Ground floor' } });
    now += 2 * HOUR;
    await refresh();
  } finally {
    for (const { emulator } of Object.values(clouds)) await emulator.close();
  }
  const seen = (at: number) => ({
    apMac: ap.mac,
    observations: [{ clientMac: CLIENT, seenEpoch: at, rssi: -50 }],
  });
  const heard = {
    clientMac: CLIENT,
    seenEpoch: START + 3 * HOUR,
    deviceObservers: [{ apMac: '00:00:00:00:00:01', rssi: -60, locationIdHierarchy: [ap.floor] }],
  };
  await storeDeliveries(
    db,
    queuedDelivery('LOCATION_AP_CENTRIC', [
      seen(START - HOUR / 2),
      seen(START + HOUR),
      seen(START + 3 * HOUR),
    ]),
    queuedDelivery('LOCATION_AP_CENTRIC', [seen(START + 3 * HOUR)], { source: 'branch' }),
    queuedDelivery('LOCATION_CLIENT_CENTRIC', [heard]),
    queuedDelivery('AUDIT_LOG_ALL', [
      auditRecord({
        timeStamp: START + HOUR,
        orgId: organization,
        userName: EMULATOR_LOGINS.administrator.username,
      }),
    ]),
  );
}

const areas = (db: Db) => [
  eventsArea({ db, trust: nothingKnown, isFiltered: () => false }),
  peopleArea({ db }),
];
const admin = useConsole(areas, { logs: true, seed });

const names = z.object({
  access_point: z.string().nullable(),
  place: z.string().nullable(),
  person: z.string().nullable(),
  organization: z.string().nullable(),
});
const event = z.object({
  event_id: z.string(),
  occurred_at: z.string(),
  source: z.string(),
  names: names.optional(),
});

async function search(query: string) {
  return z.object({ items: z.array(event) }).parse(await admin.get(`/events?${RANGE}&${query}`)).items;
}

const OLD = 'ap-0001, Building 1, Floor 1';
const NEW = 'AP-Lobby, Building 1, Ground floor';

describe('a renamed access point', () => {
  it('has the name of the day over the API, and none before it was known', async () => {
    const found = await search('type=LOCATION_AP_CENTRIC&source=default');
    expect(found.map((one) => one.names)).toEqual([
      { access_point: 'AP-Lobby', place: 'Building 1, Ground floor', person: null, organization: null },
      { access_point: 'ap-0001', place: 'Building 1, Floor 1', person: null, organization: null },
      undefined,
    ]);
  });

  it('keeps its name in another source, although ids and addresses are the same', async () => {
    expect(await search('source=branch')).toMatchObject([{ names: { access_point: 'ap-0001' } }]);
    const { rows } = await sql`
      select source, count(*)::int as versions, count(distinct (device_id, mac))::int as devices
      from devices group by 1 order by 1`.execute(admin.db);
    expect(rows).toEqual([
      { source: 'branch', versions: 20, devices: 20 },
      { source: 'default', versions: 21, devices: 20 },
    ]);
  });

  it('is named in the list of events and on the page of each', async () => {
    const page = await admin.page(`/events?${RANGE}&type=LOCATION_AP_CENTRIC&source=default`);
    expect(page).toContain(`${CLIENT} was seen by ${OLD}`);
    expect(page).toContain(`${CLIENT} was seen by ${NEW}`);
    const pages = (await search('type=LOCATION_AP_CENTRIC&source=default')).map((one) =>
      admin.page(`/events/${one.event_id}?at=${one.occurred_at}`),
    );
    expect(await Promise.all(pages)).toEqual([
      expect.stringContaining(`was seen by ${NEW}`),
      expect.stringContaining(`was seen by ${OLD}`),
      expect.stringMatching(/was seen by access point c4:13:e2/),
    ]);
  });

  it('is named in the column of access points, which filters by the address', async () => {
    const response = await fetch(`${admin.url}/events?${RANGE}&source=default`, {
      headers: { Accept: 'text/html', Cookie: 'xiq_event_columns=ap' },
    });
    const page = await response.text();
    const mac = ap.mac.toLowerCase().match(/../g)?.join(':') ?? '';
    expect(page).toMatch(
      new RegExp(`<td class="more" title="${OLD}, ${mac}"><span>${OLD}</span><a class="only"`),
    );
  });

  it('is named in the timeline of the client', async () => {
    const page = await admin.page(`/devices/client?mac=${CLIENT}&${RANGE}`);
    for (const name of [OLD, NEW]) expect(page).toContain(`>${name}</a>`);
  });

  it('has the name of the day in SQL, for the reading role', async () => {
    const { rows } = await readOnlyQuery(
      admin.database.readerUrl,
      `select ap_name, place from named_events
       where source = 'default' and message_type = 'LOCATION_AP_CENTRIC' order by occurred_at`,
    );
    expect(rows).toEqual([
      [null, null],
      ['ap-0001', 'Building 1, Floor 1'],
      ['AP-Lobby', 'Building 1, Ground floor'],
    ]);
  });
});

it('the place of an unknown access point is that of the locations in the record', async () => {
  expect(await search('type=LOCATION_CLIENT_CENTRIC')).toMatchObject([
    { names: { access_point: null, place: 'Building 1, Ground floor' } },
  ]);
  const page = await admin.page(`/events?${RANGE}&type=LOCATION_CLIENT_CENTRIC`);
  expect(page).toContain(`${CLIENT} was seen by access point 00:00:00:00:00:01 in Building 1, Ground floor`);
});

it('an administrator is named with the role of the day', async () => {
  expect(await search('type=AUDIT_LOG_ALL')).toMatchObject([
    { names: { person: 'Administrator', organization: 'Headquarters' } },
  ]);
});
