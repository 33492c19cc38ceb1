import { byId } from './seeding.ts';
import type { Seeding } from './seeding.ts';
import type { Location } from './locations.ts';
import type { NetworkPolicy } from './policies.ts';

/** The position of a device on a floor: `x` and `y` in metres from a corner. */
export interface Placement {
  locationId: number;
  x: number;
  y: number;
  latitude: number;
  longitude: number;
}

/** An SSID on one device: its radios, and the name that overrides its own there. */
export interface SsidState {
  override?: string | null | undefined;
  wifi0: boolean;
  wifi1: boolean;
}

/** A device. Times are in epoch milliseconds. */
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
  /** Keyed by the digits of the SSID's identifier. */
  ssids: Map<string, SsidState>;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Spreads the devices over all floors: every fifth is a switch, every twentieth is offline. */
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

/** A newly onboarded device: connected and managed, without a location and a network policy. */
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

/** A device that clients connect to: an access point that is connected and stands on a floor. */
export type AccessPoint = Device & { placement: Placement };

/** The access points among these devices. */
export function accessPoints(devices: ReadonlyMap<string, Device>): AccessPoint[] {
  return [...devices.values()].filter(isAccessPoint);
}

function isAccessPoint(device: Device): device is AccessPoint {
  return device.deviceFunction === 'AP' && device.connected && device.placement !== null;
}
