import { z } from 'zod';
import type { Clock } from './clock.ts';
import type { DeviceActions } from './device-actions.ts';
import { cliOutputs, commands, deviceRecordSchema, deviceSelection } from './device-schemas.ts';
import { int64, int64Path } from './int64.ts';
import type { Operations } from './operations.ts';
import { pageOf, pageQuery } from './paging.ts';
import { queryInt } from './query.ts';
import { array, empty, longRunningRoute, object, page, route } from './route.ts';
import type { Route } from './route.ts';
import { deviceRecord, removeDevice } from './world-devices.ts';
import type { Device } from './world-devices.ts';
import type { World } from './world.ts';

interface Needs {
  world: World;
  clock: Clock;
  operations: Operations;
  actions: DeviceActions;
}

const byId = z.object({ id: int64Path });
const span = z.object({ startTime: queryInt(0).optional(), endTime: queryInt(0).optional() });
const HOUR_MS = 3_600_000;

/** Specification, Devices: the calls that concern one. */
export function deviceRoutes({ world, clock, operations, actions }: Needs): Route[] {
  const tag = 'Devices';

  return [
    route({
      method: 'GET',
      path: '/devices/{id}',
      tag,
      summary: 'One device',
      access: ['device:view', 'device:r'],
      input: byId.extend({ query: z.object(deviceSelection.query) }),
      success: object(deviceRecordSchema),
      handle: ({ id, query }) => deviceSelection.pick(deviceRecord(world, actions.get(id)), query),
    }),
    route({
      method: 'DELETE',
      path: '/devices/{id}',
      tag,
      summary: 'Delete a device',
      access: ['device:del'],
      input: byId,
      success: empty(),
      handle({ id }) {
        removeDevice(world, actions.get(id));
      },
    }),
    route({
      method: 'POST',
      path: '/devices/{id}/:cli',
      tag,
      summary: 'Send commands to a device',
      access: ['device:cli'],
      input: byId.extend({ body: commands }),
      success: object(cliOutputs),
      handle: ({ id, body }) => actions.cli([actions.get(id)], body).run(),
    }),
    ...(['manage', 'unmanage'] as const).map((verb) =>
      route({
        method: 'POST',
        path: `/devices/{id}/:${verb}`,
        tag,
        summary: `Set a device ${verb === 'manage' ? 'MANAGED' : 'UNMANAGED'}`,
        access: [`device:${verb}`],
        input: byId,
        success: empty(),
        handle({ id }) {
          actions.update(actions.get(id), { adminState: verb === 'manage' ? 'MANAGED' : 'UNMANAGED' });
        },
      }),
    ),
    route({
      method: 'POST',
      path: '/devices/{id}/:reboot',
      tag,
      summary: 'Restart a device',
      access: ['device:reboot'],
      input: byId,
      success: empty(),
      handle({ id }) {
        actions.update(actions.get(id), { connectedAt: clock.now() });
      },
    }),
    longRunningRoute(operations, {
      method: 'POST',
      path: '/devices/{id}/:reset',
      tag,
      summary: 'Reset a device to what it left the factory with',
      access: ['device:reset'],
      input: byId,
      success: empty(),
      begin: ({ id }) => actions.reset(id),
    }),
    route({
      method: 'GET',
      path: '/devices/{id}/alarms',
      tag,
      summary: 'Alarms of a device',
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
    route({
      method: 'GET',
      path: '/devices/{id}/history/cpu-mem',
      tag,
      summary: 'Load of processor and memory by the hour, of the last day unless told otherwise',
      access: ['device:view', 'device:r'],
      input: byId.extend({ query: span }),
      success: array(loadSchema),
      handle({ id, query }) {
        const { endTime = clock.now(), startTime = endTime - 24 * HOUR_MS } = query;
        return loadsOf(actions.get(id), startTime, endTime);
      },
    }),
    route({
      method: 'PUT',
      path: '/devices/{id}/hostname',
      tag,
      summary: 'Change the host name of a device',
      access: ['device'],
      input: byId.extend({ query: z.object({ hostname: z.string().min(1).max(64) }) }),
      success: empty(),
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

/** An offline device has one alarm, that it is; the others have none. */
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

/** The longest history that is answered, in hours. */
const MAX_HOURS = 31 * 24;

/** One value an hour, in percent, newest last; made up from the hour and the device, so the same at every asking. */
function loadsOf({ id }: Device, startTime: number, endTime: number): z.output<typeof loadSchema>[] {
  const last = Math.floor(endTime / HOUR_MS);
  const first = Math.max(Math.ceil(startTime / HOUR_MS), last - MAX_HOURS);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
    timestamp: (first + index) * HOUR_MS,
    average_cpu: 5 + (((first + index) * 31 + id) % 40),
    average_memory: 40 + (((first + index) * 17 + id) % 30),
  }));
}
