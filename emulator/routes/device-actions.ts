import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import { ApiError, found } from '../http/errors.ts';
import { digitsOf, int64 } from '../http/int64.ts';
import type { Int64 } from '../http/int64.ts';
import type { Work } from '../http/operations.ts';
import { place } from '../world/devices.ts';
import type { Device } from '../world/devices.ts';
import { pathTo } from '../world/locations.ts';
import { address, timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';
import type { DeviceField } from '../contract/device-views.ts';

/** A list of devices in a body. The specification does not show it; it is named as in the published interface. */
export const deviceList = z.looseObject({ ids: z.array(int64).min(1) });

/** A new position for a device. The specification does not show it; it is named as in the published interface. */
export const placementRequest = z.looseObject({
  location_id: int64,
  x: z.number().optional(),
  y: z.number().optional(),
  latitude: z.number().optional(),
  longitude: z.number().optional(),
});

type PlacementRequest = z.output<typeof placementRequest>;

const PRODUCTS = { AP: 'AP_5010', SWITCH: 'SR_5520' } as const;
const SOFTWARE_VERSION = '10.7.3.0';

/** Actions on devices. */
export interface DeviceActions {
  /** Throws 404 if there is no such device. */
  get(id: string): Device;
  /** The devices of a list, in its order. Throws 404 if one is missing, so that no call is done in part. */
  getAll(ids: readonly Int64[]): Device[];
  update(device: Device, changes: Partial<Device>): void;
  /** Deletes a device. Its clients go offline. */
  remove(device: Device): void;
  /** Throws 404 if there is no such location. */
  putInto(devices: readonly Device[], request: PlacementRequest): void;
  /** Runs commands on devices. The result has the outcome of each command. */
  cli(devices: readonly Device[], commands: readonly string[]): Work;
  /** Resets a device to factory settings. Fails if the device is offline or gone by then. */
  reset(id: string): Work;
  /** A device with all fields of all views. */
  record(device: Device): Record<DeviceField | 'id' | 'country_code', unknown>;
}

const DEFAULT_POSITION = { x: 10, y: 10 };

/** Creates the actions on the devices of a world. */
export function createDeviceActions({ world, clock }: { world: World; clock: Clock }): DeviceActions {
  function get(id: string): Device {
    return found(world.devices.get(id), 'device', id);
  }

  function update(device: Device, changes: Partial<Device>): void {
    Object.assign(device, changes, { updatedAt: clock.now() });
  }

  return {
    get,
    getAll: (ids) => ids.map((id) => get(digitsOf(id))),
    update,
    remove(device) {
      world.devices.delete(String(device.id));
      for (const client of world.clients.values()) {
        if (client.deviceId !== device.id) continue;
        client.deviceId = null;
        client.session = null;
      }
    },
    record: (device) => deviceRecord(world, device),
    putInto(devices, { location_id, x = DEFAULT_POSITION.x, y = DEFAULT_POSITION.y, latitude, longitude }) {
      const location = found(world.locations.get(digitsOf(location_id)), 'location', digitsOf(location_id));
      const placement = place(location, x, y);
      for (const device of devices) {
        update(device, {
          placement: {
            ...placement,
            latitude: latitude ?? placement.latitude,
            longitude: longitude ?? placement.longitude,
          },
        });
      }
    },
    cli: (devices, commands) => ({
      cancelable: true,
      hasProgress: true,
      steps: ['connect', 'execute', 'collect'],
      run: () => ({
        device_cli_outputs: Object.fromEntries(
          devices.map((device) => [device.id, commands.map((command) => run(device, command))]),
        ),
      }),
    }),
    reset(id) {
      get(id);
      return {
        cancelable: false,
        hasProgress: false,
        steps: ['erase', 'restart'],
        run() {
          const device = get(id);
          if (!device.connected) {
            throw new ApiError(503, 'UNAVAILABLE', `Device ${id} is offline. Try again when it is online`);
          }
          update(device, {
            hostname: `${device.deviceFunction.toLowerCase()}-${device.macAddress.slice(-6).toLowerCase()}`,
            networkPolicyId: null,
            ssids: new Map(),
            connectedAt: clock.now(),
          });
        },
      };
    },
  };
}

/** The outcome of a command on a device. */
function run(device: Device, command: string) {
  const { hostname, connected, adminState } = device;
  if (!connected) return { cli: command, response_code: 'ERR_DEVICE_NOT_ACTIVE', output: '' };
  if (adminState !== 'MANAGED') return { cli: command, response_code: 'ERR_UNMANAGED_DEVICE', output: '' };
  return { cli: command, response_code: 'SUCCEED', output: `${hostname}# ${command}\n` };
}

function deviceRecord(world: World, device: Device): ReturnType<DeviceActions['record']> {
  const { placement, networkPolicyId, orgId } = device;
  const policy = networkPolicyId === null ? undefined : world.networkPolicies.get(networkPolicyId);
  const path = pathTo(world.locations, placement?.locationId ?? null);
  const clients = [...world.clients.values()].filter((client) => client.deviceId === device.id);
  return {
    id: device.id,
    create_time: timestamp(device.createdAt),
    update_time: timestamp(device.updatedAt),
    org_id: orgId,
    org_name: world.account.organizations.find(({ id }) => id === orgId)?.name ?? null,
    location_id: placement?.locationId ?? null,
    locations: path.map(({ id, name }) => ({ id, name })),
    serial_number: device.serialNumber,
    service_tag: null,
    mac_address: device.macAddress,
    simulated: false,
    device_function: device.deviceFunction,
    product_type: PRODUCTS[device.deviceFunction],
    hostname: device.hostname,
    ip_address: address('10.1', device.host),
    software_version: SOFTWARE_VERSION,
    device_admin_state: device.adminState,
    connected: device.connected,
    last_connect_time: timestamp(device.connectedAt),
    network_policy_name: policy?.record['name'] ?? null,
    network_policy_id: policy?.id ?? null,
    primary_ntp_server_address: '10.1.0.1',
    primary_dns_server_address: '10.1.0.1',
    subnet_mask: '255.255.0.0',
    default_gateway: '10.1.0.1',
    ipv6_address: `fd00:1::${device.host.toString(16)}`,
    ipv6_netmask: 64,
    display_version: SOFTWARE_VERSION,
    active_clients: clients.length,
    country_code: device.countryCode,
  };
}
