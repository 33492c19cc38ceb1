import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { DIALECTS } from '../../emulator/dialects.ts';
import { createCall, logIn } from '../../emulator/test/call.ts';
import { createCloudClient } from '../../src/cloud/client.ts';
import { CloudApiError } from '../../src/cloud/cloud-api-error.ts';
import { toDevice, toLocations, toPerson } from '../../src/inventory/to-rows.ts';
import { createApiToken } from '../support/api-token.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { startTestClient } from './test-client.ts';
import type { Reply } from '../support/stand-in.ts';

describe.each(DIALECTS)('the inventory of a cloud in the dialect %s', (dialect) => {
  it('is read whole, with places from the building on', async () => {
    const scale = { devices: 250, clients: 0, users: 2_500 };
    const { inventory } = (await emulatorForTest({ scale, dialect })).client;

    const devices = (await inventory.devices()).map(toDevice);
    expect(new Set(devices.map(({ device_id }) => device_id)).size).toBe(250);
    const locations = toLocations(await inventory.locations());
    // One campus, and a building of three floors for every 20 devices.
    expect(locations).toHaveLength(1 + 13 * 4);
    const [first] = devices;
    expect(first).toMatchObject({ host_name: 'ap-0001', function: 'AP' });
    expect(first?.mac).toMatch(/^c4:13:e2:/);
    expect(locations.find(({ location_id }) => location_id === first?.location_id)).toMatchObject({
      name: 'Floor 1',
      place: 'Building 1, Floor 1',
    });
    const people = (await inventory.users()).map(toPerson);
    // The two logins, and an administrator for every 20 end users.
    expect(people).toHaveLength(2 + 125);
    expect(people[0]).toMatchObject({
      user_name: EMULATOR_LOGINS.administrator.username,
      name: 'Administrator',
    });
    expect(people[0]?.role?.toLowerCase()).toBe('administrator');
    // What was learned from a refusal is remembered.
    await expect(inventory.devices()).resolves.toHaveLength(250);
  });
});

const page = (total: number, data: readonly object[]): Reply => ({ json: { pagination: { total }, data } });
const some = (count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, hostname: `ap-${first + index}` }));

describe('a list of devices', () => {
  it.each<[string, readonly Reply[]]>([
    ['ends early', [page(150, some(100)), page(150, [])]],
    ['shrinks while it is read', [page(150, some(100)), page(149, some(49, 102))]],
    ['has more items than it says', [page(99, some(100)), page(99, [])]],
    ['repeats an item', [page(150, some(100)), page(150, some(50, 100))]],
  ])('is refused if it %s', async (_, replies) => {
    const left = [...replies];
    await using cloud = await startTestClient(() => left.shift() ?? { status: 404 });
    await expect(cloud.client.inventory.devices()).rejects.toThrow('the list is incomplete or changed');
  });

  it('is asked for in the other form if the views are not understood, and then in that form alone', async () => {
    const isUpper = (url: string) => url.includes('views=BASIC&views=LOCATION');
    await using cloud = await startTestClient(({ url }) =>
      url.startsWith('/devices') ? (isUpper(url) ? page(1, some(1)) : { status: 422 }) : { status: 403 },
    );
    expect(await cloud.client.inventory.devices()).toHaveLength(1);
    expect(await cloud.client.inventory.devices()).toHaveLength(1);
    const lists = cloud.received.filter(({ url }) => url.startsWith('/devices'));
    expect(lists.map(({ url }) => isUpper(url))).toEqual([false, true, true]);
  });
});

it('is refused while the HIQ context hides an organization', async () => {
  const { url, client } = await emulatorForTest({ scale: { devices: 50, clients: 0, users: 0 } });
  const call = createCall(url, await logIn(url, 'administrator'));
  const [first] = z.array(z.int()).parse((await call('GET', '/hiq/context/reading')).body);
  const { inventory } = client;
  await expect(inventory.devices()).resolves.toHaveLength(50);
  await call('PUT', '/hiq/context/reading', { body: [first] });
  await expect(inventory.devices()).rejects.toThrow(`restricts reading to the organizations ${first}:`);
  await call('PUT', '/hiq/context/reading', { body: [] });
  await expect(inventory.devices()).resolves.toHaveLength(50);
});

describe('with a token that may not read the HIQ', () => {
  const MAY_READ_ACCOUNT = 'viq:get-account-info';
  const NOT_LISTED = '/hiq/organizations 403';

  const refusalOf = (error: unknown) =>
    error instanceof CloudApiError ? `${error.path} ${error.status}` : String(error);

  /** The inventory of an account by a token with these permissions: the number of things, or why they cannot be read. */
  async function readBy(permissions: readonly string[], isHiq: boolean) {
    const { url } = await emulatorForTest({ scale: { devices: 1, clients: 0, users: 0 }, isHiq });
    const apiToken = await createApiToken(url, { permissions });
    const { inventory } = createCloudClient({ baseUrl: url, credentials: { apiToken } });
    const lists = await Promise.allSettled([inventory.organizations(), inventory.devices()]);
    return lists.map((list) => (list.status === 'fulfilled' ? list.value.length : refusalOf(list.reason)));
  }

  it.each([
    ['has organizations, nothing is read', [MAY_READ_ACCOUNT], true, [NOT_LISTED, '/hiq/context 403']],
    ['may have organizations, these are not known', [], true, [NOT_LISTED, 1]],
    ['has none, all is read', [MAY_READ_ACCOUNT], false, [0, 1]],
  ])('of an account that %s', async (_, permissions, isHiq, expected) => {
    expect(await readBy(['device', ...permissions], isHiq)).toEqual(expected);
  });
});

it('locations are read from a flat list, too, whatever contains itself', () => {
  const rows = toLocations([
    { id: '3', name: 'Floor 1', type: 'FLOOR', parent_id: '2' },
    { id: '2', name: 'Building 2', type: 'BUILDING', parent_id: '1' },
    { id: '1', name: 'Site', type: 'SITE' },
    { id: '8', name: 'Snake', parent_id: '9' },
    { id: '9', name: 'Tail', parent_id: '8' },
  ]);
  expect(rows.map(({ place }) => place)).toEqual([
    'Building 2, Floor 1',
    'Building 2',
    'Site',
    'Tail, Snake',
    'Snake, Tail',
  ]);
});
