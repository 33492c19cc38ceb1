import { z } from 'zod';
import { found } from './api-error.ts';
import type { DeviceActions } from './device-actions.ts';
import { deviceList, deviceLocation, placementRequest } from './device-schemas.ts';
import { int64, int64Path } from './int64.ts';
import { empty, object, route } from './route.ts';
import type { Route } from './route.ts';
import type { Device } from './world-devices.ts';
import type { World } from './world.ts';

const byId = z.object({ id: int64Path });
const tag = 'Devices';

interface Needs {
  world: World;
  actions: DeviceActions;
}

/** Specification, Devices: where they are, what policy they follow, which SSIDs they carry. */
export function deviceSettingRoutes(needs: Needs): Route[] {
  return [...locationRoutes(needs), ...policyRoutes(needs), ...ssidRoutes(needs)];
}

function locationRoutes({ world, actions }: Needs): Route[] {
  function locationOf({ placement }: Device): z.output<typeof deviceLocation> | undefined {
    const location = world.locations.get(String(placement?.locationId));
    if (location === undefined || placement === null) return undefined;
    const { x, y, latitude, longitude } = placement;
    return {
      location_id: location.id,
      parent_id: location.parentId,
      location_name: location.name,
      location_type: location.type,
      location_unique_name: `${location.name} (${location.id})`,
      x,
      y,
      latitude,
      longitude,
    };
  }

  return [
    route({
      method: 'GET',
      path: '/devices/{id}/location',
      tag,
      summary: 'Where a device is',
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(deviceLocation),
      handle: ({ id }) => found(locationOf(actions.get(id)), 'location of device', id),
    }),
    route({
      method: 'PUT',
      path: '/devices/{id}/location',
      tag,
      summary: 'Put a device into a location',
      access: ['device'],
      input: byId.extend({ body: placementRequest }),
      success: empty(),
      handle({ id, body }) {
        actions.putInto([actions.get(id)], body);
      },
    }),
    route({
      method: 'DELETE',
      path: '/devices/{id}/location',
      tag,
      summary: 'Take a device out of its location',
      access: ['device'],
      input: byId,
      success: empty(),
      handle({ id }) {
        actions.update(actions.get(id), { placement: null });
      },
    }),
    route({
      method: 'POST',
      path: '/devices/location/:assgin',
      tag,
      summary: 'Put several devices into a location (the path is spelled so)',
      access: ['device'],
      input: z.object({ body: z.looseObject({ devices: deviceList, device_location: placementRequest }) }),
      success: empty(),
      handle({ body: { devices, device_location: request } }) {
        actions.putInto(actions.getAll(devices.ids), request);
      },
    }),
    route({
      method: 'POST',
      path: '/devices/location/:query',
      tag,
      summary: 'Where several devices are, by the digits of their identifiers',
      access: ['device:relaxed_read', 'device:r'],
      input: z.object({ body: deviceList }),
      success: object(z.record(z.string(), deviceLocation)),
      handle: ({ body: { ids } }) =>
        Object.fromEntries(
          actions.getAll(ids).flatMap((device) => {
            const location = locationOf(device);
            return location === undefined ? [] : [[device.id, location]];
          }),
        ),
    }),
    route({
      method: 'POST',
      path: '/devices/location/:revoke',
      tag,
      summary: 'Take several devices out of their locations',
      access: ['device'],
      input: z.object({ body: deviceList }),
      success: empty(),
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) actions.update(device, { placement: null });
      },
    }),
  ];
}

function policyRoutes({ world, actions }: Needs): Route[] {
  return [
    route({
      method: 'GET',
      path: '/devices/{id}/network-policy',
      tag,
      summary: 'The network policy of a device',
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(z.looseObject({ id: int64 })),
      handle({ id }) {
        const policyId = actions.get(id).networkPolicyId;
        const policy = policyId === null ? undefined : world.networkPolicies.get(policyId);
        return found(policy, 'network policy of device', id).record;
      },
    }),
    route({
      method: 'PUT',
      path: '/devices/{id}/network-policy',
      tag,
      summary: 'Give a device a network policy',
      access: ['device'],
      input: byId.extend({ query: z.object({ networkPolicyId: int64Path }) }),
      success: empty(),
      handle({ id, query: { networkPolicyId } }) {
        const device = actions.get(id);
        found(world.networkPolicies.get(networkPolicyId), 'network policy', networkPolicyId);
        actions.update(device, { networkPolicyId });
      },
    }),
    route({
      method: 'DELETE',
      path: '/devices/{id}/network-policy',
      tag,
      summary: 'Take the network policy off a device',
      access: ['device'],
      input: byId,
      success: empty(),
      handle({ id }) {
        actions.update(actions.get(id), { networkPolicyId: null });
      },
    }),
  ];
}

const overrideRequest = z.looseObject({ ssid_id: int64 });
const statusRequest = z.looseObject({
  ssid_ids: z.array(int64).min(1),
  if_names: z.array(z.enum(['WIFI0', 'WIFI1'])).min(1),
  enabled: z.boolean(),
});
const interfaceStatus = z.object({ wifi0_enabled: z.boolean(), wifi1_enabled: z.boolean() });
const ENABLED = { wifi0: true, wifi1: true };

function ssidRoutes({ world, actions }: Needs): Route[] {
  function ssidKey(id: number | bigint): string {
    found(world.ssids.get(String(id)), 'SSID', id);
    return String(id);
  }

  return [
    route({
      method: 'POST',
      path: '/devices/{id}/ssid/:override',
      tag,
      summary: 'Override an SSID on one device',
      access: ['device'],
      input: byId.extend({ body: overrideRequest }),
      success: empty(),
      handle({ id, body }) {
        const { ssids } = actions.get(id);
        const key = ssidKey(body.ssid_id);
        ssids.set(key, { ...(ssids.get(key) ?? ENABLED), override: body });
      },
    }),
    route({
      method: 'GET',
      path: '/devices/{id}/ssid/status',
      tag,
      summary:
        'Which SSIDs are enabled on which radio of a device, by the digits of the identifier of the SSID',
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(z.record(z.string(), interfaceStatus)),
      handle({ id }) {
        const device = actions.get(id);
        const policy = world.networkPolicies.get(device.networkPolicyId ?? '');
        const keys = new Set([...(policy?.ssidIds ?? []), ...device.ssids.keys()]);
        return Object.fromEntries(
          [...keys].map((key) => {
            const { wifi0, wifi1 } = device.ssids.get(key) ?? ENABLED;
            return [key, { wifi0_enabled: wifi0, wifi1_enabled: wifi1 }];
          }),
        );
      },
    }),
    route({
      method: 'POST',
      path: '/devices/{id}/ssid/status/:change',
      tag,
      summary: 'Enable or disable SSIDs on the radios of a device',
      access: ['device'],
      input: byId.extend({ body: statusRequest }),
      success: empty(),
      handle({ id, body: { ssid_ids: ids, if_names: radios, enabled } }) {
        const { ssids } = actions.get(id);
        for (const key of ids.map(ssidKey)) {
          const before = ssids.get(key) ?? ENABLED;
          ssids.set(key, {
            ...before,
            wifi0: radios.includes('WIFI0') ? enabled : before.wifi0,
            wifi1: radios.includes('WIFI1') ? enabled : before.wifi1,
          });
        }
      },
    }),
  ];
}
