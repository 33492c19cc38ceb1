import { z } from 'zod';
import type { Dialect } from '../dialects.ts';
import { found } from '../http/errors.ts';
import { digitsOf, int64, int64Path } from '../http/int64.ts';
import type { Int64 } from '../http/int64.ts';
import { object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Device, SsidState } from '../world/devices.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';
import { deviceList, placementRequest } from './device-actions.ts';
import type { DeviceActions } from './device-actions.ts';

const byId = z.object({ id: int64Path });

interface Needs {
  world: World;
  actions: DeviceActions;
  dialect: Dialect;
}

/** Specification, Devices: the locations, network policies and SSIDs of devices. */
export function deviceSettingRoutes(needs: Needs): Route[] {
  return [...locationRoutes(needs), ...policyRoutes(needs), ...ssidRoutes(needs)];
}

const deviceLocation = z.object({
  location_id: int64,
  parent_id: int64.nullable(),
  location_name: z.string(),
  location_type: z.string(),
  location_unique_name: z.string(),
  org_id: int64,
  create_time: z.string(),
  update_time: z.string(),
  x: z.number(),
  y: z.number(),
  latitude: z.number(),
  longitude: z.number(),
});

function locationRoutes({ world, actions, dialect }: Needs): Route[] {
  function locationOf(device: Device): z.output<typeof deviceLocation> | undefined {
    const { placement, orgId, createdAt, updatedAt } = device;
    const location = world.locations.get(String(placement?.locationId));
    if (location === undefined || placement === null) return undefined;
    const { x, y, latitude, longitude } = placement;
    return {
      location_id: location.id,
      parent_id: location.parentId,
      location_name: location.name,
      location_type: location.type,
      location_unique_name: `${location.name} (${location.id})`,
      org_id: orgId,
      create_time: timestamp(createdAt),
      update_time: timestamp(updatedAt),
      x,
      y,
      latitude,
      longitude,
    };
  }

  return [
    route('GET', '/devices/{id}/location', 'Get the location of a device', {
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(deviceLocation),
      handle: ({ id }) => found(locationOf(actions.get(id)), 'location of device', id),
    }),
    route('PUT', '/devices/{id}/location', 'Assign a device to a location', {
      access: ['device'],
      input: byId.extend({ body: placementRequest }),
      handle({ id, body }) {
        actions.putInto([actions.get(id)], body);
      },
    }),
    route('DELETE', '/devices/{id}/location', 'Remove a device from its location', {
      access: ['device'],
      input: byId,
      handle({ id }) {
        actions.update(actions.get(id), { placement: null });
      },
    }),
    // The specification misspells the path, the published interface does not.
    ...(dialect === 'spec' ? ['assgin'] : ['assgin', 'assign']).map((verb) =>
      route('POST', `/devices/location/:${verb}`, 'Assign several devices to a location', {
        access: ['device'],
        input: z.object({ body: z.looseObject({ devices: deviceList, device_location: placementRequest }) }),
        handle({ body: { devices, device_location: request } }) {
          actions.putInto(actions.getAll(devices.ids), request);
        },
      }),
    ),
    route('POST', '/devices/location/:query', 'Get the locations of several devices', {
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
    route('POST', '/devices/location/:revoke', 'Remove several devices from their locations', {
      access: ['device'],
      input: z.object({ body: deviceList }),
      handle({ body: { ids } }) {
        for (const device of actions.getAll(ids)) actions.update(device, { placement: null });
      },
    }),
  ];
}

function policyRoutes({ world, actions }: Needs): Route[] {
  return [
    route('GET', '/devices/{id}/network-policy', 'Get the network policy of a device', {
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(z.looseObject({ id: int64 })),
      handle({ id }) {
        const policyId = actions.get(id).networkPolicyId;
        const policy = policyId === null ? undefined : world.networkPolicies.get(policyId);
        return found(policy, 'network policy of device', id).record;
      },
    }),
    route('PUT', '/devices/{id}/network-policy', 'Assign a network policy to a device', {
      access: ['device'],
      input: byId.extend({ query: z.object({ networkPolicyId: int64Path }) }),
      handle({ id, query: { networkPolicyId } }) {
        const device = actions.get(id);
        found(world.networkPolicies.get(networkPolicyId), 'network policy', networkPolicyId);
        actions.update(device, { networkPolicyId });
      },
    }),
    route('DELETE', '/devices/{id}/network-policy', 'Remove the network policy from a device', {
      access: ['device'],
      input: byId,
      handle({ id }) {
        actions.update(actions.get(id), { networkPolicyId: null });
      },
    }),
  ];
}

/** Members as published. The passphrase is taken, but no call returns it. */
const overrideRequest = z.looseObject({
  ssid_id: int64,
  ssid: z.string().nullish(),
  passphrase: z.string().nullish(),
});
const statusRequest = z.looseObject({
  ssid_ids: z.array(int64).min(1),
  if_names: z.array(z.enum(['WIFI0', 'WIFI1'])).min(1),
  enabled: z.boolean(),
});
const interfaceStatus = z.object({
  wifi0_enabled: z.boolean(),
  wifi1_enabled: z.boolean(),
  ssid: z.string().nullish().describe('The name that overrides the one of the SSID on this device'),
});
const ENABLED: SsidState = { wifi0: true, wifi1: true };

function ssidRoutes({ world, actions }: Needs): Route[] {
  function ssidKey(id: Int64): string {
    const key = digitsOf(id);
    found(world.ssids.get(key), 'SSID', key);
    return key;
  }

  return [
    route('POST', '/devices/{id}/ssid/:override', 'Override an SSID on one device', {
      access: ['device'],
      input: byId.extend({ body: overrideRequest }),
      handle({ id, body }) {
        const { ssids } = actions.get(id);
        const key = ssidKey(body.ssid_id);
        ssids.set(key, { ...(ssids.get(key) ?? ENABLED), override: body.ssid });
      },
    }),
    route('GET', '/devices/{id}/ssid/status', 'List the enabled SSIDs of a device, by radio', {
      access: ['device:view', 'device:r'],
      input: byId,
      success: object(z.record(z.string(), interfaceStatus)),
      handle({ id }) {
        const device = actions.get(id);
        const policy = world.networkPolicies.get(device.networkPolicyId ?? '');
        const keys = new Set([...(policy?.ssidIds ?? []), ...device.ssids.keys()]);
        return Object.fromEntries(
          [...keys].map((key) => {
            const { wifi0, wifi1, override: ssid } = device.ssids.get(key) ?? ENABLED;
            return [key, { wifi0_enabled: wifi0, wifi1_enabled: wifi1, ssid }];
          }),
        );
      },
    }),
    route('POST', '/devices/{id}/ssid/status/:change', 'Enable or disable SSIDs on the radios of a device', {
      access: ['device'],
      input: byId.extend({ body: statusRequest }),
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
