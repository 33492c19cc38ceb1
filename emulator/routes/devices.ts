import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import { deviceSchema } from '../../src/cloud/contract/device.ts';
import { visibleTo } from '../access/visibility.ts';
import type { Dialect } from '../dialects.ts';
import { badRequest } from '../http/errors.ts';
import { int64, int64Path } from '../http/int64.ts';
import type { Operations } from '../http/operations.ts';
import { createSelection, pageOf, pageQuery, queryInt } from '../http/query.ts';
import { array, empty, longRunningRoute, object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { newDevice } from '../world/devices.ts';
import type { Device } from '../world/devices.ts';
import type { World } from '../world/world.ts';
import { deviceList } from './device-actions.ts';
import type { DeviceActions } from './device-actions.ts';
import { DEVICE_VIEWS } from '../contract/device-views.ts';

interface Needs {
  world: World;
  clock: Clock;
  operations: Operations;
  actions: DeviceActions;
  dialect: Dialect;
}

const byId = z.object({ id: int64Path });
/** The selection of device fields, with the members that the vendor's schema requires. */
function deviceSelection(dialect: Dialect) {
  const required = ['create_time', 'update_time', 'org_id', 'location_id'];
  return createSelection(DEVICE_VIEWS, { dialect, extraFields: ['country_code'], required });
}

/** The identifier is there if it is selected, and always in the published interface. */
const recordSchema = deviceSchema.extend({ id: int64.optional() });
const commands = z.array(z.string().min(1)).min(1);
const cliOutputs = z.object({
  device_cli_outputs: z.record(
    z.string(),
    z.array(z.object({ cli: z.string(), response_code: z.string(), output: z.string() })),
  ),
});
const span = z.object({ startTime: queryInt(0).optional(), endTime: queryInt(0).optional() });
const HOUR_MS = 3_600_000;

/** Specification, Devices: the calls about one device. */
export function deviceRoutes({ clock, operations, actions, dialect }: Omit<Needs, 'world'>): Route[] {
  const selection = deviceSelection(dialect);
  return [
    route('GET', '/devices/{id}', 'Get a device', {
      access: ['device:view', 'device:r'],
      input: byId.extend({ query: z.object(selection.query) }),
      success: object(recordSchema),
      handle: ({ id, query }) => selection.pick(actions.record(actions.get(id)), query),
    }),
    route('DELETE', '/devices/{id}', 'Delete a device', {
      access: ['device:del'],
      input: byId,
      handle({ id }) {
        actions.remove(actions.get(id));
      },
    }),
    route('POST', '/devices/{id}/:cli', 'Send commands to a device', {
      access: ['device:cli'],
      input: byId.extend({ body: commands }),
      success: object(cliOutputs),
      handle: ({ id, body }) => actions.cli([actions.get(id)], body).run(),
    }),
    ...(['manage', 'unmanage'] as const).map((verb) =>
      route('POST', `/devices/{id}/:${verb}`, `Set a device ${verb === 'manage' ? 'MANAGED' : 'UNMANAGED'}`, {
        access: [`device:${verb}`],
        input: byId,
        handle({ id }) {
          actions.update(actions.get(id), { adminState: verb === 'manage' ? 'MANAGED' : 'UNMANAGED' });
        },
      }),
    ),
    route('POST', '/devices/{id}/:reboot', 'Restart a device', {
      access: ['device:reboot'],
      input: byId,
      handle({ id }) {
        actions.update(actions.get(id), { connectedAt: clock.now() });
      },
    }),
    longRunningRoute(operations, 'POST', '/devices/{id}/:reset', 'Reset a device to factory settings', {
      access: ['device:reset'],
      input: byId,
      begin: ({ id }) => actions.reset(id),
    }),
    route('GET', '/devices/{id}/alarms', 'List the alarms of a device', {
      access: ['device:view', 'device:r'],
      input: byId.extend({ query: pageQuery().extend(span.shape) }),
      success: page(alarmSchema),
      handle({ id, query }) {
        const { startTime = 0, endTime = clock.now() } = query;
        const alarms = alarmsOf(actions.get(id));
        return pageOf(
          alarms.filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime),
          query,
        );
      },
    }),
    route(
      'GET',
      '/devices/{id}/history/cpu-mem',
      'List CPU and memory load by the hour, by default of the last day',
      {
        access: ['device:view', 'device:r'],
        input: byId.extend({ query: span }),
        success: array(loadSchema),
        handle({ id, query }) {
          const { endTime = clock.now(), startTime = endTime - 24 * HOUR_MS } = query;
          return loadsOf(actions.get(id), startTime, endTime);
        },
      },
    ),
    route('PUT', '/devices/{id}/hostname', 'Change the host name of a device', {
      access: ['device'],
      input: byId.extend({ query: z.object({ hostname: z.string().min(1).max(64) }) }),
      handle({ id, query: { hostname } }) {
        actions.update(actions.get(id), { hostname });
      },
    }),
  ];
}

const alarmSchema = z.object({
  entity_id: int64,
  timestamp: z.int(),
  severity: z.string(),
  category: z.string(),
  device_mac: z.string(),
  client_mac: z.string().nullable(),
  description: z.string(),
});

/** An offline device has one alarm, which says so. Other devices have none. */
function alarmsOf({ id, connected, connectedAt, macAddress }: Device): z.output<typeof alarmSchema>[] {
  if (connected) return [];
  return [
    {
      entity_id: id,
      timestamp: connectedAt,
      severity: 'CRITICAL',
      category: 'DEVICE_STATE',
      device_mac: macAddress,
      client_mac: null,
      description: 'The device is offline',
    },
  ];
}

const loadSchema = z.object({ timestamp: z.int(), average_cpu: z.int(), average_memory: z.int() });

/** The longest history, in hours. */
const MAX_HOURS = 31 * 24;

/** One value per hour, in percent, newest last. Derived from hour and device, so that every call returns the same. */
function loadsOf({ id }: Device, startTime: number, endTime: number): z.output<typeof loadSchema>[] {
  const last = Math.floor(endTime / HOUR_MS);
  const first = Math.max(Math.ceil(startTime / HOUR_MS), last - MAX_HOURS);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
    timestamp: (first + index) * HOUR_MS,
    average_cpu: 5 + (((first + index) * 31 + id) % 40),
    average_memory: 40 + (((first + index) * 17 + id) % 30),
  }));
}

const listInput = z.object({ body: deviceList });

/** Serial numbers: `sns` in one member for each vendor, as in the published interface. */
const onboardInput = z.object({
  body: z.record(z.string(), z.looseObject({ sns: z.array(z.string().min(1)).optional() })),
});

/** Specification, Devices: the calls about several devices. */
export function deviceListRoutes({ world, clock, operations, actions, dialect }: Needs): Route[] {
  const selection = deviceSelection(dialect);
  return [
    longRunningRoute(operations, 'GET', '/devices', 'List devices', {
      access: ['device:list', 'device:r'],
      input: z.object({ query: pageQuery().extend(selection.query) }),
      success: page(recordSchema),
      begin: ({ query }, caller) => ({
        cancelable: true,
        hasProgress: true,
        steps: [],
        run() {
          const isVisible = visibleTo(world, caller);
          const devices = [...world.devices.values()].filter(({ orgId }) => isVisible(orgId));
          const { data, pagination } = pageOf(devices, query);
          return {
            pagination,
            data: data.map((device) => selection.pick(actions.record(device), query)),
          };
        },
      }),
    }),
    longRunningRoute(operations, 'POST', '/devices/:cli', 'Send commands to several devices', {
      access: ['device:cli'],
      input: z.object({ body: z.looseObject({ devices: deviceList, clis: commands }) }),
      success: object(cliOutputs),
      begin: ({ body: { devices, clis } }) => actions.cli(actions.getAll(devices.ids), clis),
    }),
    route('POST', '/devices/:delete', 'Delete several devices', {
      access: ['device:del'],
      input: listInput,
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) actions.remove(device);
      },
    }),
    ...(['manage', 'unmanage'] as const).map((verb) =>
      route(
        'POST',
        `/devices/:${verb}`,
        `Set several devices ${verb === 'manage' ? 'MANAGED' : 'UNMANAGED'}`,
        {
          access: [`device:${verb}`],
          input: listInput,
          handle({ body: { ids } }) {
            const adminState = verb === 'manage' ? 'MANAGED' : 'UNMANAGED';
            for (const device of actions.getAll(ids)) actions.update(device, { adminState });
          },
        },
      ),
    ),
    route('POST', '/devices/:onboard', 'Onboard devices in the background', {
      access: ['device:new'],
      input: onboardInput,
      success: empty(202),
      creates: true,
      handle({ body }) {
        const serialNumbers = Object.values(body).flatMap(({ sns }) => sns ?? []);
        if (serialNumbers.length === 0) throw badRequest('body: no member contains serial numbers (sns)');
        const { account, nextId } = world;
        for (const serialNumber of serialNumbers) {
          const device = newDevice({ account, nextId, now: clock.now() }, world.devices.size, serialNumber);
          world.devices.set(String(device.id), device);
        }
      },
    }),
    route('POST', '/devices/:reboot', 'Restart several devices', {
      access: ['device:reboot'],
      input: listInput,
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) actions.update(device, { connectedAt: clock.now() });
      },
    }),
    route('POST', '/devices/country-code/:assign', 'Assign a country code to devices', {
      access: ['device'],
      input: z.object({
        body: z.looseObject({ devices: deviceList, country_code: z.union([z.int(), z.string().min(1)]) }),
      }),
      handle({ body: { devices, country_code: countryCode } }) {
        for (const device of actions.getAll(devices.ids)) actions.update(device, { countryCode });
      },
    }),
  ];
}
