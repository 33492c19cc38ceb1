import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { saveInventory, namesAsOf, type InventoryRows } from '../../../src/store/reconcile/inventory.ts';
import { openOrganizationNames } from '../../../src/store/reconcile/organization-names.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { emptyTables } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(() => emptyTables(test.db));

const MAC = '00:11:22:33:44:55';

const device = (
  id: number,
  host_name: string,
  more: Partial<InventoryRows['devices']> = {},
): InventoryRows['devices'] => ({
  device_id: String(id),
  mac: MAC,
  serial_number: null,
  host_name,
  function: 'AP',
  location_id: null,
  ...more,
});

const location = (id: number, place: string, parent: number | null = null) => ({
  location_id: String(id),
  parent_id: parent === null ? null : String(parent),
  name: place.split(', ').at(-1) ?? place,
  type: null,
  place,
});

const day = (number: number) => new Date(Date.UTC(2026, 0, number));

const save = (devices: readonly InventoryRows['devices'][], at: Date, source = 'default') =>
  saveInventory(test.service, 'devices', source, devices, at);

const nameAt = async (at: Date, asked: object = { mac: MAC }, scope = ALL_SOURCES) =>
  (await namesAsOf(test.service, scope, [{ source: 'default', at, ...asked }]))[0];

describe('the inventory', () => {
  it('names the place of the access point, else the innermost location that is known', async () => {
    await saveInventory(
      test.service,
      'locations',
      'default',
      [location(1, 'Campus'), location(2, 'Building 2', 1), location(3, 'Building 2, Floor 1', 2)],
      day(1),
    );
    await save([device(1, 'AP-Lobby', { location_id: '3' })], day(1));
    expect(await nameAt(day(2))).toEqual({
      accessPoint: 'AP-Lobby',
      place: 'Building 2, Floor 1',
      person: null,
      role: null,
      organization: null,
    });
    for (const locationIds of [
      ['1', '2', '3'],
      ['3', '1', '2', '9223372036854775807'],
    ]) {
      expect((await nameAt(day(2), { locationIds }))?.place).toBe('Building 2, Floor 1');
    }
    expect((await nameAt(day(2), { locationIds: ['2', '1', '77'] }))?.place).toBe('Building 2');
    expect(await nameAt(day(2), { locationIds: ['77'] })).toBeUndefined();
  });

  it('ends the version of what differs or is missing, and keeps the rest, also of a source that has nothing', async () => {
    const [one, two] = [device(1, 'one'), device(2, 'two')];
    expect(await save([one, two], day(1))).toEqual({ begun: 2, ended: 0 });
    expect(await save([one, two], day(2))).toEqual({ begun: 0, ended: 0 });
    expect(await save([device(1, 'other')], day(3))).toEqual({ begun: 1, ended: 2 });
    expect(await save([], day(4))).toEqual({ begun: 0, ended: 0 });
    // Also if a clock was set back.
    expect(await save([one], day(2))).toEqual({ begun: 1, ended: 1 });
    const rows =
      await test.query`select host_name, valid_from, valid_to from devices order by valid_from, host_name`;
    const [third, later] = [day(3), new Date(day(3).getTime() + 1)];
    expect(rows).toEqual([
      { host_name: 'one', valid_from: day(1), valid_to: third },
      { host_name: 'two', valid_from: day(1), valid_to: third },
      { host_name: 'other', valid_from: third, valid_to: later },
      { host_name: 'one', valid_from: later, valid_to: null },
    ]);
    expect(await namesAsOf(test.service, ALL_SOURCES, [])).toEqual([]);
  });

  it('names the person behind a login, in any case, with the role of the time', async () => {
    const ann = { person_id: '7', user_name: 'Ann@example.com', name: 'Ann Berg', role: 'Operator' };
    await saveInventory(test.service, 'people', 'default', [ann], day(1));
    await saveInventory(test.service, 'people', 'default', [{ ...ann, role: 'Administrator' }], day(2));
    const asked = { user: 'ann@example.com' };
    expect(await nameAt(day(1), asked)).toMatchObject({ person: 'Ann Berg', role: 'Operator' });
    expect(await nameAt(day(2), asked)).toMatchObject({ person: 'Ann Berg', role: 'Administrator' });
  });

  it('names the organization, for pages and for destinations, as of the time', async () => {
    const north = { organization_id: '5', name: 'North' };
    await saveInventory(test.service, 'organizations', 'default', [north], day(1));
    await saveInventory(test.service, 'organizations', 'default', [{ ...north, name: 'Northwest' }], day(3));
    const nameOf = await openOrganizationNames({ db: test.service })();
    const event = { source: 'default', orgId: '5', occurredAt: day(2).toISOString() };
    const named = async (more: object) => {
      const { source, orgId, occurredAt: at } = { ...event, ...more };
      expect((await nameAt(new Date(at), { source, orgId }))?.organization).toBe(
        nameOf({ source, orgId, occurredAt: at }),
      );
      return nameOf({ source, orgId, occurredAt: at });
    };
    expect(await named({})).toBe('North');
    expect(await named({ occurredAt: day(3).toISOString() })).toBe('Northwest');
    for (const other of [{ source: 'branch' }, { orgId: '0' }, { occurredAt: day(0).toISOString() }])
      expect(await named(other)).toBeUndefined();
    const rows = await test.query`
      select name, organization_at('default', 5, ${day(2)}) as old from organizations order by valid_from`;
    expect(rows).toEqual(['North', 'Northwest'].map((name) => ({ name, old: 'North' })));
  });

  it('keeps sources with the same ids and addresses apart, and tells a name only in its scope', async () => {
    await save([device(1, 'AP-Lobby')], day(1));
    await save([device(1, 'AP-Branch')], day(1), 'branch');
    await save([device(1, 'AP-Branch-2')], day(2), 'branch');
    const asked = ['default', 'branch', 'other'].map((source) => ({ source, at: day(2), mac: MAC }));
    const names = async (scope: typeof ALL_SOURCES | readonly string[]) =>
      (await namesAsOf(test.service, scope, asked)).map((one) => one?.accessPoint);
    expect(await names(ALL_SOURCES)).toEqual(['AP-Lobby', 'AP-Branch-2', undefined]);
    expect(await names(['branch'])).toEqual([undefined, 'AP-Branch-2', undefined]);
    expect(await names([])).toEqual([undefined, undefined, undefined]);
  });

  it('refuses two versions of one thing that overlap, whoever writes them', async () => {
    await save([device(1, 'AP-Lobby')], day(1));
    const overlapping = sql`
      insert into devices (source, device_id, valid_from) values ('default', 1, ${day(5)})`.execute(
      test.service,
    );
    await expect(overlapping).rejects.toThrow(/exclusion constraint/);
    await expect(save([device(2, 'one'), device(2, 'two')], day(6))).rejects.toThrow('duplicate key');
    expect((await nameAt(day(7)))?.accessPoint).toBe('AP-Lobby');
  });
});
