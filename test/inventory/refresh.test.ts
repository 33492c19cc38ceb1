import { randomUUID } from 'node:crypto';
import { array, assert, asyncProperty, constant, constantFrom, integer, oneof, tuple } from 'fast-check';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createEmulator } from '../../emulator/emulator.ts';
import { createCloudClient } from '../../src/cloud/client.ts';
import type { Inventory } from '../../src/cloud/inventory.ts';
import { createRefresher } from '../../src/inventory/refresh.ts';
import { namesAsOf } from '../../src/store/reconcile/inventory.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { createApiToken } from '../support/api-token.ts';
import { emptyTables } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { runs } from '../support/runs.ts';

const HOUR = 3_600_000;

const test = useDatabase();
let now: number;
beforeEach(reset);

async function reset(): Promise<void> {
  await emptyTables(test.db);
  await test.query`truncate history_leases`;
  now = Date.UTC(2026, 0, 1);
}

/** What the cloud lists: host names by the id of the device, or why they cannot be read. */
interface WrittenCloud {
  calls: number;
  devices: ReadonlyMap<number, string> | Error;
  locations: Awaited<ReturnType<Inventory['locations']>>;
  organizations: Awaited<ReturnType<Inventory['organizations']>>;
  users: Awaited<ReturnType<Inventory['users']>>;
}

/** A cloud whose answers a test writes. */
function writtenCloud() {
  const cloud: WrittenCloud = { calls: 0, devices: new Map(), locations: [], organizations: [], users: [] };
  const inventory: Inventory = {
    async devices() {
      cloud.calls += 1;
      if (cloud.devices instanceof Error) throw cloud.devices;
      return [...cloud.devices].map(([id, hostname]) => ({
        id: String(id),
        mac_address: macOf(id),
        hostname,
        location_id: '7',
      }));
    },
    locations: async () => cloud.locations,
    organizations: async () => cloud.organizations,
    users: async () => cloud.users,
  };
  return { cloud, inventory };
}

const macOf = (id: number) => `00112233${id.toString(16).padStart(4, '0')}`;

/** A process that refreshes a source, with the lines that it logs. */
function startProcess(inventory: Inventory, source = 'default') {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const clock = { now: () => now, sleep: async () => undefined };
  const refresher = createRefresher({ db: test.service, clock, holder: randomUUID(), logger });
  return {
    lines,
    round: () => refresher.round({ source, inventory }),
    leave: () => refresher.leave(source),
  };
}

interface Version {
  readonly id: number;
  readonly host_name: string;
  readonly from: number;
  readonly to: number | null;
}

async function versions(): Promise<readonly Version[]> {
  const rows = await test.query<Version>`
    select device_id::int as id, host_name, (extract(epoch from valid_from) * 1000)::float8 as from,
      (extract(epoch from valid_to) * 1000)::float8 as to
    from devices order by device_id, valid_from`;
  return rows;
}

/** Whether a version overlaps the one before it of the same device, or repeats it although the device was never gone. */
function isWrongAfter({ id, host_name, from }: Version, index: number, all: readonly Version[]): boolean {
  const before = all[index - 1];
  if (before?.id !== id) return false;
  const { to } = before;
  return to === null || to <= before.from || from < to || (from === to && host_name === before.host_name);
}

describe('a refresh', () => {
  it('happens every hour, and tries again after ten minutes what failed', async () => {
    const { cloud, inventory } = writtenCloud();
    const { round, lines } = startProcess(inventory);
    cloud.devices = new Map([[1, 'AP-Lobby']]);
    await round();
    now += HOUR / 6;
    await round();
    expect(cloud.calls).toBe(1);
    now += HOUR;
    cloud.devices = new Error('the cloud is down');
    for (let failed = 0; failed < 3; failed += 1) {
      await round();
      now += HOUR / 6;
    }
    expect(cloud.calls).toBe(4);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      "can't refresh the devices of the inventory (permission device:r): the cloud is down",
    );
    cloud.devices = new Map([[1, 'AP-Entrance']]);
    await round();
    expect((await versions()).map(({ host_name }) => host_name)).toEqual(['AP-Lobby', 'AP-Entrance']);
    expect(await test.query`select distinct location_id from devices`).toEqual([{ location_id: '7' }]);
  });

  it('goes on with the other tables if one cannot be read', async () => {
    const { cloud, inventory } = writtenCloud();
    cloud.devices = new Error('not permitted');
    cloud.locations = [
      { id: '1', name: 'Campus', children: [{ id: '2', name: ' Building\0 1 ', type: 'Building' }] },
      { id: '3', name: 'Floor 1', parent_id: '2' },
      { id: '4', name: 'x'.repeat(501), parent_id: '4' },
    ];
    const ann = { first_name: 'Ann', last_name: 'Lee', user_role: 'ADMINISTRATOR' };
    cloud.users = [{ id: '3', login_name: 'ann@example.com', ...ann }];
    await startProcess(inventory).round();
    expect(await test.query`select place, parent_id from locations order by location_id`).toEqual([
      { place: 'Campus', parent_id: null },
      { place: 'Building 1', parent_id: '1' },
      { place: 'Building 1, Floor 1', parent_id: '2' },
      { place: 'x'.repeat(500), parent_id: '4' },
    ]);
    expect(await test.query`select user_name, name, role from people`).toEqual([
      { user_name: 'ann@example.com', name: 'Ann Lee', role: 'ADMINISTRATOR' },
    ]);
  });

  it('leaves the organizations as they are while the token may not list them, and says so once', async () => {
    const emulator = createEmulator({ rate: 0, scale: { devices: 1, clients: 0, users: 0 } });
    const baseUrl = await emulator.listen(0);
    onTestFinished(() => emulator.close());
    const lines: string[] = [];
    for (const permissions of [undefined, ['device', 'locations', 'account-user-list']]) {
      const apiToken = await createApiToken(baseUrl, { permissions });
      const { inventory } = createCloudClient({ baseUrl, credentials: { apiToken } });
      const process = startProcess(inventory);
      for (const _ of [1, 2]) {
        await process.round();
        now += HOUR;
      }
      await process.leave();
      lines.push(...process.lines.filter((line) => line.includes('organizations of the inventory')));
    }
    const rows = await test.query`select count(*)::int, count(valid_to)::int as ended from organizations`;
    expect(rows).toEqual([{ count: 3, ended: 0 }]);
    expect(lines).toEqual([
      expect.stringContaining('(permission hiq:r): GET /hiq/organizations answered 403'),
    ]);
  });

  it('is done by one of several processes, until that one leaves', async () => {
    const { cloud, inventory } = writtenCloud();
    const first = startProcess(inventory);
    const second = startProcess(inventory);
    await first.round();
    await second.round();
    expect(cloud.calls).toBe(1);
    await first.leave();
    await second.round();
    expect(cloud.calls).toBe(2);
  });

  it('begins a version after the last one, also if the clock was set back', async () => {
    const { cloud, inventory } = writtenCloud();
    cloud.devices = new Map([[1, 'before']]);
    await startProcess(inventory).round();
    await test.query`truncate history_leases`;
    now -= HOUR;
    cloud.devices = new Map([[1, 'after']]);
    await startProcess(inventory).round();
    expect(await versions()).toMatchObject([{ to: now + HOUR + 1 }, { from: now + HOUR + 1, to: null }]);
  });

  const ids = integer({ min: 1, max: 4 });
  const names = constantFrom('AP-Lobby', 'AP-Entrance', 'AP-Roof');
  const devices = array(tuple(ids, names), { maxLength: 5 }).map((entries) => new Map(entries));
  const answers = oneof(
    { weight: 3, arbitrary: devices },
    { weight: 1, arbitrary: constant(new Error('the cloud is down')) },
  );

  it('gives each device one name at a time, that of the latest list, without a gap', async () => {
    await assert(
      asyncProperty(array(answers, { minLength: 1, maxLength: 10 }), async (series) => {
        await reset();
        const { cloud, inventory } = writtenCloud();
        const { round } = startProcess(inventory);
        /** What should be known from a time on: an empty list says nothing, as little as a failure does. */
        let known: ReadonlyMap<number, string> = new Map();
        const expected: { at: number; known: ReadonlyMap<number, string> }[] = [];
        for (const answer of series) {
          cloud.devices = answer;
          await round();
          if (!(answer instanceof Error) && answer.size > 0) known = answer;
          expected.push({ at: now, known });
          now += HOUR;
        }
        expect((await versions()).filter(isWrongAfter)).toEqual([]);
        const asked = expected.flatMap(({ at, known }) =>
          [1, 2, 3, 4].flatMap((id) =>
            [at, at + HOUR - 1].map((time) => ({ id, name: known.get(id), at: new Date(time) })),
          ),
        );
        const found = await namesAsOf(
          test.service,
          ALL_SOURCES,
          asked.map(({ id, at }) => ({ source: 'default', mac: macOf(id), at })),
        );
        expect(found.map((one) => one?.accessPoint)).toEqual(asked.map(({ name }) => name));
      }),
      { numRuns: runs(15) },
    );
  });
});
