import { z } from 'zod';
import { badRequest } from './api-error.ts';
import type { Clock } from './clock.ts';
import type { DeviceActions } from './device-actions.ts';
import { cliOutputs, commands, deviceList, deviceRecordSchema, deviceSelection } from './device-schemas.ts';
import type { Operations } from './operations.ts';
import { pageOf, pageQuery } from './paging.ts';
import { empty, longRunningRoute, object, page, route } from './route.ts';
import type { Route } from './route.ts';
import { deviceRecord, newDevice, removeDevice } from './world-devices.ts';
import type { World } from './world.ts';

interface Needs {
  world: World;
  clock: Clock;
  operations: Operations;
  actions: DeviceActions;
}

const listInput = z.object({ body: deviceList });

/** Serial numbers wherever the body keeps them: by the published interface in `sns` of one member for each make. */
const onboardInput = z.object({
  body: z.record(z.string(), z.looseObject({ sns: z.array(z.string().min(1)).optional() })),
});

/** Specification, Devices: the calls that concern several. */
export function deviceListRoutes({ world, clock, operations, actions }: Needs): Route[] {
  const tag = 'Devices';

  return [
    longRunningRoute(operations, {
      method: 'GET',
      path: '/devices',
      tag,
      summary: 'List devices',
      access: ['device:list', 'device:r'],
      input: z.object({ query: pageQuery().extend(deviceSelection.query) }),
      success: page(deviceRecordSchema),
      begin: ({ query }) => ({
        cancelable: true,
        hasProgress: true,
        steps: [],
        run() {
          const { data, pagination } = pageOf([...world.devices.values()], query);
          return {
            pagination,
            data: data.map((device) => deviceSelection.pick(deviceRecord(world, device), query)),
          };
        },
      }),
    }),
    longRunningRoute(operations, {
      method: 'POST',
      path: '/devices/:cli',
      tag,
      summary: 'Send commands to several devices',
      access: ['device:cli'],
      input: z.object({ body: z.looseObject({ devices: deviceList, clis: commands }) }),
      success: object(cliOutputs),
      begin: ({ body: { devices, clis } }) => actions.cli(actions.getAll(devices.ids), clis),
    }),
    route({
      method: 'POST',
      path: '/devices/:delete',
      tag,
      summary: 'Delete several devices',
      access: ['device:del'],
      input: listInput,
      success: empty(),
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) removeDevice(world, device);
      },
    }),
    ...(['manage', 'unmanage'] as const).map((verb) =>
      route({
        method: 'POST',
        path: `/devices/:${verb}`,
        tag,
        summary: `Set several devices ${verb === 'manage' ? 'MANAGED' : 'UNMANAGED'}`,
        access: [`device:${verb}`],
        input: listInput,
        success: empty(),
        handle({ body: { ids } }) {
          const adminState = verb === 'manage' ? 'MANAGED' : 'UNMANAGED';
          for (const device of actions.getAll(ids)) actions.update(device, { adminState });
        },
      }),
    ),
    route({
      method: 'POST',
      path: '/devices/:onboard',
      tag,
      summary: 'Onboard devices, in the background',
      access: ['device:new'],
      input: onboardInput,
      success: empty(202),
      creates: true,
      handle({ body }) {
        const serialNumbers = Object.values(body).flatMap(({ sns }) => sns ?? []);
        if (serialNumbers.length === 0) throw badRequest('body: no serial numbers (sns) in any member');
        const { account, nextId } = world;
        for (const serialNumber of serialNumbers) {
          const device = newDevice({ account, nextId, now: clock.now() }, world.devices.size, serialNumber);
          world.devices.set(String(device.id), device);
        }
      },
    }),
    route({
      method: 'POST',
      path: '/devices/:reboot',
      tag,
      summary: 'Restart several devices',
      access: ['device:reboot'],
      input: listInput,
      success: empty(),
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) actions.update(device, { connectedAt: clock.now() });
      },
    }),
    route({
      method: 'POST',
      path: '/devices/country-code/:assign',
      tag,
      summary: 'Assign a country code to devices',
      access: ['device'],
      input: z.object({
        body: z.looseObject({ devices: deviceList, country_code: z.union([z.int(), z.string().min(1)]) }),
      }),
      success: empty(),
      handle({ body: { devices, country_code: countryCode } }) {
        for (const device of actions.getAll(devices.ids)) actions.update(device, { countryCode });
      },
    }),
  ];
}
