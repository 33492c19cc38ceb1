import type { DeviceField } from '../src/cloud/contract/device.ts';
import { timestamp } from './timestamp.ts';
import { FLOOR, pathTo } from './world-locations.ts';
import type { Location } from './world-locations.ts';
import type { NetworkPolicy } from './world-policies.ts';
import type { Seeding, World } from './world.ts';
import { byId } from './world.ts';

/** Where a device stands: on a floor, `x` and `y` in metres from its corner. */
export interface Placement {
  locationId: number;
  x: number;
  y: number;
  latitude: number;
  longitude: number;
}

/** A device as the emulator holds it; times in epoch milliseconds. */
export interface Device {
  id: number;
  orgId: number;
  createdAt: number;
  updatedAt: number;
  connectedAt: number;
  serialNumber: string;
  macAddress: string;
  deviceFunction: 'AP' | 'SWITCH';
  hostname: string;
  /** The last two octets of its address. */
  host: number;
  connected: boolean;
  adminState: 'MANAGED' | 'UNMANAGED';
  placement: Placement | null;
  networkPolicyId: string | null;
  countryCode: unknown;
  /** By the digits of an SSID's identifier. */
  ssids: Map<string, { override?: unknown; wifi0: boolean; wifi1: boolean }>;
}

const PRODUCTS = { AP: 'AP_5010', SWITCH: 'SR_5520' } as const;
const SOFTWARE_VERSION = '10.7.3.0';
const DAY_MS = 24 * 60 * 60 * 1000;

/** Devices on all floors: every fifth is a switch, every twentieth is offline. */
export function seedDevices(
  seeding: Seeding,
  locations: readonly Location[],
  policies: readonly NetworkPolicy[],
): Map<string, Device> {
  const { scale, random } = seeding;
  const floors = locations.filter(({ type }) => type === 'Floor');
  const devices = Array.from({ length: scale.devices }, (_, index): Device => {
    const floor = floors[index % floors.length];
    return {
      ...newDevice(seeding, index, random.hex(14)),
      connected: index % 20 !== 19,
      placement: floor === undefined ? null : place(floor, random.int(5, 55), random.int(5, 35)),
      networkPolicyId: String(random.pickAny(policies)?.id ?? ''),
    };
  });
  return byId(devices);
}

/** A device that was just onboarded: connected and managed, in no location and under no policy. */
export function newDevice(
  { account, now, nextId }: Pick<Seeding, 'account' | 'now' | 'nextId'>,
  index: number,
  serialNumber: string,
): Device {
  const id = nextId();
  const deviceFunction = index % 5 === 4 ? 'SWITCH' : 'AP';
  return {
    id,
    orgId: account.creatingOrgId,
    createdAt: now - 90 * DAY_MS,
    updatedAt: now - DAY_MS,
    connectedAt: now - DAY_MS,
    serialNumber,
    macAddress: `C413E2${(id % 0x1000000).toString(16).padStart(6, '0').toUpperCase()}`,
    deviceFunction,
    hostname: `${deviceFunction.toLowerCase()}-${String(index + 1).padStart(4, '0')}`,
    host: index + 2,
    connected: true,
    adminState: 'MANAGED',
    placement: null,
    networkPolicyId: null,
    countryCode: 756,
    ssids: new Map(),
  };
}

/** A placement on a floor. */
export function place({ id, latitude, longitude }: Location, x: number, y: number): Placement {
  const [north, east] = [y / 111_000, x / 75_000];
  return { locationId: id, x, y, latitude: latitude + north, longitude: longitude + east };
}

/** A device that clients can be at: connected, and standing on a floor. */
export type AccessPoint = Device & { placement: Placement };

export function accessPoints(world: World): AccessPoint[] {
  return [...world.devices.values()].filter(isAccessPoint);
}

function isAccessPoint(device: Device): device is AccessPoint {
  return device.deviceFunction === 'AP' && device.connected && device.placement !== null;
}

/** Deletes a device; the clients at it are off the network. */
export function removeDevice(world: World, device: Device): void {
  world.devices.delete(String(device.id));
  for (const client of world.clients.values()) {
    if (client.deviceId !== device.id) continue;
    client.deviceId = null;
    client.session = null;
  }
}

/** A position moved by some metres, but not off its floor. */
export function step(at: number, by: number, along: keyof typeof FLOOR): number {
  return Number(Math.min(Math.max(at + by, 0), FLOOR[along]).toFixed(2));
}

/** The IPv4 address of the n-th host of a network. */
export function address(network: string, host: number): string {
  return `${network}.${Math.floor(host / 250) % 250}.${(host % 250) + 2}`;
}

/** A device with every field that a view can select. */
export function deviceRecord(
  world: World,
  device: Device,
): Record<DeviceField | 'id' | 'country_code', unknown> {
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
