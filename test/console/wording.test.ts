import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { alertsArea } from '../../src/console/alerts/alerts-area.ts';
import { coverageArea } from '../../src/console/coverage/coverage-area.ts';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import { destinationsArea } from '../../src/console/destinations/destinations-area.ts';
import { eventsArea } from '../../src/console/events/events-area.ts';
import { liveArea } from '../../src/console/live/live-area.ts';
import { operatorLogArea } from '../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { quarantineArea } from '../../src/console/quarantine/quarantine-area.ts';
import { subscriptionsArea } from '../../src/console/subscriptions/subscriptions-area.ts';
import { sendingOf } from '../../src/serve/console-actions.ts';
import { recordAction } from '../../src/store/operator-log.ts';
import type { Db } from '../../src/store/database.ts';
import { fileDestination, refuseAll, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { startAdmin } from '../support/admin.ts';
import type { RunningAdmin } from '../support/admin.ts';
import { findBanned } from '../support/banned-phrases.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { settingsForTests, sourcesForTests } from '../support/sources.ts';
import { temporaryDirectory } from '../support/program.ts';
import { integrityForTests } from './integrity/integrity-for-tests.ts';
import { overviewForTests, systemForTests } from './overview/overview-for-tests.ts';
import { ACCESS_POINTS, RANGE, ROAMING_CLIENT, seedEvents, UNPLACED_CLIENT } from './seeded-events.ts';

const range = new URLSearchParams(RANGE).toString();

/** Pages that are the same whatever is stored. */
const PAGES = [
  '/',
  '/?range=week',
  '/events',
  `/events?${range}`,
  `/events?${range}&type=LOCATION_AP_CENTRIC`,
  '/events?since=soon&mac=xyz&code=x&type=NONE&cursor=x',
  '/events?since=2026-02-01&until=2026-01-01',
  '/alerts',
  '/people',
  '/people?q=ann',
  '/devices',
  '/devices?q=zz',
  `/devices/access-point?mac=${ACCESS_POINTS[0]}`,
  '/devices/access-point?mac=xyz',
  '/people?q=nobody',
  `/people/user?name=ann&${range}`,
  `/people/client?mac=${ROAMING_CLIENT}&${range}`,
  `/people/client?mac=${UNPLACED_CLIENT}&${range}`,
  '/people/client?mac=xyz',
  '/live',
  '/deliveries',
  '/deliveries?source=none',
  '/deliveries?since=soon',
  '/coverage',
  '/coverage?month=2026-01',
  '/coverage?day=2026-01-31',
  '/certificate?month=2026-01',
  '/reports?month=2026-01',
  '/reports?name=access&month=2026-01&user=ann',
  '/integrity?month=2026-01',
  '/integrity',
  '/quarantine',
  '/quarantine?state=all',
  '/quarantine?state=discarded',
  '/destinations',
  '/subscriptions',
  '/operator-log',
  '/operator-log?limit=1',
  '/settings',
  '/system',
  '/sources',
  '/nowhere',
];

const lists = z.object({ items: z.array(z.looseObject({})) });

describe('the console', () => {
  let test: TestDatabase;
  let directory: string;
  let admin: RunningAdmin;
  beforeAll(async () => {
    test = await createTestDatabase();
    directory = await temporaryDirectory();
    admin = await startAdmin(areasOf(test.db, directory), test.db);
  });
  afterAll(async () => {
    await admin.close();
    await test.drop();
    await rm(directory, { recursive: true, force: true });
  });

  async function bannedIn(addresses: readonly string[]): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const address of addresses) {
      const response = await fetch(`${admin.url}${address}`, { headers: { Accept: 'text/html' } });
      for (const one of findBanned(await response.text())) found.push({ address, ...one });
    }
    return found;
  }

  /** The page of the first item of each list. */
  async function detailPages(): Promise<string[]> {
    const pages: string[] = [];
    for (const [path, member] of [
      ['/events', 'event_id'],
      ['/deliveries', 'delivery_id'],
      ['/quarantine', 'quarantine_id'],
      ['/destinations', 'name'],
    ] as const) {
      const { items } = lists.parse(await admin.get(path));
      for (const item of items.slice(0, 5)) pages.push(`${path}/${String(item[member])}`);
    }
    return pages;
  }

  it('has no banned phrase on a page without data', async () => {
    expect(await bannedIn(PAGES)).toEqual([]);
  });

  it('has no banned phrase on a page with data', async () => {
    await seedEvents(test.db);
    await storeDeliveries(test.db, unreadableDelivery('{'), unreadableDelivery(Buffer.from([255, 0])));
    await refuseAll(test.db, 'archive');
    await refuseAll(test.db, 'old');
    const operator = { name: 'Ada', via: 'console' } as const;
    await recordAction(test.db, { operator, action: 'events.export' }, async () => 'exported');
    const details = await detailPages();
    expect(details.length).toBeGreaterThan(8);
    expect(await bannedIn([...PAGES, ...details])).toEqual([]);
  });

  it('has no banned phrase in the log-in page', async () => {
    const other = await startAdmin([], test.db, { token: 'admin-token-of-the-test' });
    const response = await fetch(`${other.url}/login`);
    expect(findBanned(await response.text())).toEqual([]);
    await other.close();
  });

  it('has no banned phrase in the OpenAPI document', async () => {
    const response = await fetch(`${admin.url}/api/openapi.json`);
    expect(findBanned(await response.text())).toEqual([]);
  });
});

it('no module or page of the console contains a banned phrase, comments included', () => {
  const directory = path.resolve(import.meta.dirname, '../../src/console');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.[jt]s$/.test(name),
  );
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((name) =>
    findBanned(readFileSync(path.join(directory, name), 'utf8')).map((one) => ({ name, ...one })),
  );
  expect(found).toEqual([]);
});

it('finds a banned phrase across lines and whatever its case, and says what to write', () => {
  expect(findBanned('<h1>This CANNOT be\n  asked so</h1>')).toEqual([
    { phrase: 'CANNOT be asked so', instead: 'Invalid query', context: '<h1>This CANNOT be asked so</h1>' },
  ]);
  expect(findBanned('1 event of 21 events, 1,001 events')).toEqual([]);
  expect(findBanned('Its 1 events')).toHaveLength(1);
});

function areasOf(db: Db, directory: string) {
  const destinations = [fileDestination('archive', directory), fileDestination('new', directory)];
  return [
    overviewForTests(db),
    eventsArea({ db, isFiltered: () => false }),
    peopleArea({ db }),
    alertsArea({ db, rules: () => [] }),
    liveArea({ db }),
    deliveriesArea({ db }),
    coverageArea({ db }),
    integrityForTests(db),
    quarantineArea({ db, replay: async () => [] }),
    destinationsArea({ db, ...sendingOf(db, () => destinations) }),
    subscriptionsArea({ db, sources: [], missing: [{ setting: 'PUBLIC_URL', purpose: 'the public URL' }] }),
    operatorLogArea({ db }),
    systemForTests(db),
    sourcesForTests(db),
    settingsForTests(db, { sources: ['default (1 secret)'], publicUrl: undefined, destinations: [] }),
  ];
}
