import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { saveInventory, type InventoryRows } from '../../src/store/reconcile/inventory.ts';
import type { Db } from '../../src/store/server/database.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { eventsForTests } from '../support/events-area.ts';
import { useConsole } from '../support/use-console.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 20, 8);
const CLIENT = 'aa:bb:cc:dd:ee:ff';
const AP = 'c4:13:e2:00:00:01';
const RANGE = 'since=2026-01-20T07:00Z&until=2026-01-20T12:00Z';

const device = (hostName: string): InventoryRows['devices'] => ({
  device_id: '1',
  mac: AP,
  serial_number: null,
  host_name: hostName,
  function: 'AP',
  location_id: '2',
});

const floor = (name: string): InventoryRows['locations'] => ({
  location_id: '2',
  parent_id: null,
  name,
  type: null,
  place: `Building 1, ${name}`,
});

/**
 * In the source `default`, an access point and its floor are renamed between 8:00 and 10:00; the source `branch` has the same
 * devices, which stay as they are. The access points see a client before and after.
 */
async function seed(db: Db): Promise<void> {
  const [then, later] = [new Date(START), new Date(START + 2 * HOUR)];
  for (const source of ['default', 'branch']) {
    await saveInventory(db, 'locations', source, [floor('Floor 1')], then);
    await saveInventory(db, 'devices', source, [device('ap-0001')], then);
  }
  await saveInventory(db, 'locations', 'default', [floor('Ground floor')], later);
  await saveInventory(db, 'devices', 'default', [device('AP-Lobby')], later);
  const ada = { person_id: '1', user_name: 'ada@example.com', name: 'Ada', role: 'Administrator' };
  await saveInventory(db, 'people', 'default', [ada], then);
  await saveInventory(db, 'organizations', 'default', [{ organization_id: '7', name: 'Headquarters' }], then);
  const seen = (at: number) => ({
    apMac: AP,
    observations: [{ clientMac: CLIENT, seenEpoch: at, rssi: -50 }],
  });
  const heard = {
    clientMac: CLIENT,
    seenEpoch: START + 3 * HOUR,
    deviceObservers: [{ apMac: '00:00:00:00:00:01', rssi: -60, locationIdHierarchy: [2] }],
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
      auditRecord({ timeStamp: START + HOUR, orgId: 7, userName: 'ada@example.com' }),
    ]),
  );
}

const admin = useConsole((db) => [eventsForTests(db), peopleArea({ db })], { logs: true, seed });

const event = z.looseObject({ event_id: z.string(), occurred_at: z.string(), names: z.unknown().optional() });

async function search(query: string) {
  return z.object({ items: z.array(event) }).parse(await admin.get(`/events?${RANGE}&${query}`)).items;
}

const OLD = 'ap-0001, Building 1, Floor 1';
const NEW = 'AP-Lobby, Building 1, Ground floor';

describe('a renamed access point', () => {
  it('has the name of the day over the API, and none before it was known', async () => {
    const found = await search('type=LOCATION_AP_CENTRIC&source=default');
    expect(found.map((one) => one.names)).toMatchObject([
      { access_point: 'AP-Lobby', place: 'Building 1, Ground floor', person: null, organization: null },
      { access_point: 'ap-0001', place: 'Building 1, Floor 1', person: null, organization: null },
      undefined,
    ]);
  });

  it('keeps its name in another source, although ids and addresses are the same', async () => {
    expect(await search('source=branch')).toMatchObject([{ names: { access_point: 'ap-0001' } }]);
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
    expect(page).toContain(`<td class="more" title="${OLD}, ${AP}"><span>${OLD}</span><a class="only"`);
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

it('an administrator and the organization are named', async () => {
  expect(await search('type=AUDIT_LOG_ALL')).toMatchObject([
    { names: { person: 'Ada', organization: 'Headquarters' } },
  ]);
});
