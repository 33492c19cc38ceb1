import { ApiError, found } from './api-error.ts';
import type { Clock } from './clock.ts';
import type { Work } from './operations.ts';
import { place } from './world-devices.ts';
import type { Device } from './world-devices.ts';
import type { World } from './world.ts';

/** Where a device is put; the shape is not shown in the specification, these are the published members. */
interface PlacementRequest {
  location_id: number | bigint;
  x?: number | undefined;
  y?: number | undefined;
  latitude?: number | undefined;
  longitude?: number | undefined;
}

/** What can be done to devices. */
export interface DeviceActions {
  /** Throws 404 where a device is not there. */
  get(id: string): Device;
  /** The devices of a list, in its order; throws 404 where one is not there, so that nothing is done by half. */
  getAll(ids: readonly (number | bigint)[]): Device[];
  /** Changes a device. */
  update(device: Device, changes: Partial<Device>): void;
  /** Throws 404 where the location is not there. */
  putInto(devices: readonly Device[], request: PlacementRequest): void;
  /** Runs commands on devices; the answer of each command says how it went. */
  cli(devices: readonly Device[], commands: readonly string[]): Work;
  /** Back to the factory's settings; fails on a device that is offline by then, or gone. */
  reset(id: string): Work;
}

const DEFAULT_POSITION = { x: 10, y: 10 };

export function createDeviceActions({ world, clock }: { world: World; clock: Clock }): DeviceActions {
  function get(id: string): Device {
    return found(world.devices.get(id), 'device', id);
  }

  function update(device: Device, changes: Partial<Device>): void {
    Object.assign(device, changes, { updatedAt: clock.now() });
  }

  return {
    get,
    getAll: (ids) => ids.map((id) => get(String(id))),
    update,
    putInto(devices, { location_id, x = DEFAULT_POSITION.x, y = DEFAULT_POSITION.y, latitude, longitude }) {
      const location = found(world.locations.get(String(location_id)), 'location', location_id);
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
            throw new ApiError(503, 'UNAVAILABLE', `Device ${id} is offline and cannot be reset now`);
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

/** What a device answers to a command. */
function run(device: Device, command: string) {
  const { hostname, connected, adminState } = device;
  if (!connected) return { cli: command, response_code: 'ERR_DEVICE_NOT_ACTIVE', output: '' };
  if (adminState !== 'MANAGED') return { cli: command, response_code: 'ERR_UNMANAGED_DEVICE', output: '' };
  return { cli: command, response_code: 'SUCCEED', output: `${hostname}# ${command}\n` };
}
