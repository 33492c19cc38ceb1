import type { CLIENT_VIEWS } from '../src/cloud/contract/client.ts';
import type { NonEmpty } from './random.ts';
import { timestamp } from './timestamp.ts';
import { address } from './world-devices.ts';
import type { Device } from './world-devices.ts';
import { pathTo } from './world-locations.ts';
import type { EndUser } from './world-people.ts';
import type { Ssid } from './world-policies.ts';
import type { Seeding, World } from './world.ts';
import { byId } from './world.ts';

/** The stay of a client on the network, from which accounting is written; times in epoch milliseconds. */
export interface Session {
  id: string;
  startedAt: number;
  inputOctets: number;
  outputOctets: number;
}

/** Something that uses the network. */
export interface Client {
  id: number;
  macAddress: string;
  hostname: string;
  os: string;
  vendor: string;
  username: string;
  /** As broadcast. */
  ssid: string;
  host: number;
  /** Metres on the floor of its access point. */
  x: number;
  y: number;
  deviceId: number | null;
  onlineAt: number;
  offlineAt: number;
  session: Session | null;
}

type ClientField = (typeof CLIENT_VIEWS)[keyof typeof CLIENT_VIEWS][number];

const KINDS: NonEmpty<{ os: string; vendor: string; oui: string }> = [
  { os: 'iOS', vendor: 'Apple', oui: 'F0D1A9' },
  { os: 'Android', vendor: 'Samsung', oui: '8425DB' },
  { os: 'Windows', vendor: 'Intel', oui: '3C6AA7' },
  { os: 'Linux', vendor: 'Raspberry Pi', oui: 'B827EB' },
];
const VLAN = 20;

/** Clients of the end users, six in ten of them on the network. */
export function seedClients(
  { scale, random, now, nextId }: Seeding,
  devices: readonly Device[],
  endUsers: readonly EndUser[],
  ssids: readonly Ssid[],
): Map<string, Client> {
  const aps = devices.filter(({ deviceFunction, connected }) => deviceFunction === 'AP' && connected);
  const clients = Array.from({ length: scale.clients }, (_, index): Client => {
    const { os, vendor, oui } = random.pick(KINDS);
    const ap = random.chance(0.6) ? random.pickAny(aps) : undefined;
    const onlineAt = now - random.int(1, 240) * 60_000;
    return {
      id: nextId(),
      macAddress: oui + random.hex(6),
      hostname: `${os.toLowerCase()}-${index + 1}`,
      os,
      vendor,
      username: endUsers[index % endUsers.length]?.user_name ?? `guest-${index + 1}`,
      ssid: random.pickAny(ssids)?.broadcast_name ?? '',
      host: index,
      x: (ap?.placement?.x ?? 0) + random.int(-4, 4),
      y: (ap?.placement?.y ?? 0) + random.int(-4, 4),
      deviceId: ap?.id ?? null,
      onlineAt,
      offlineAt: ap === undefined ? onlineAt + 60_000 : 0,
      session: ap === undefined ? null : newSession(random.hex(16), onlineAt),
    };
  });
  return byId(clients);
}

/** A stay that begins. */
export function newSession(id: string, startedAt: number): Session {
  return { id, startedAt, inputOctets: 0, outputOctets: 0 };
}

/** The IPv4 address of a client. */
export function clientAddress({ host }: Client): string {
  return address('10.20', host);
}

/** A client with every field that a view can select. Numbers that stand for kinds (`auth`, `radio_type`) are made up. */
export function clientRecord(world: World, client: Client): Record<ClientField | 'id', unknown> {
  const ap = client.deviceId === null ? undefined : world.devices.get(String(client.deviceId));
  const orgId = ap?.orgId ?? world.account.creatingOrgId;
  const path = pathTo(world.locations, ap?.placement?.locationId ?? null);
  const online = ap !== undefined;
  return {
    id: client.id,
    create_time: timestamp(client.onlineAt),
    update_time: timestamp(online ? client.onlineAt : client.offlineAt),
    org_id: orgId,
    org_name: world.account.organizations.find(({ id }) => id === orgId)?.name ?? null,
    location_id: ap?.placement?.locationId ?? null,
    locations: path.map(({ id, name }) => ({ id, name })),
    hostname: client.hostname,
    mac_address: client.macAddress,
    ip_address: clientAddress(client),
    ipv6_address: `fd00:20::${(client.host + 1).toString(16)}`,
    os_type: client.os,
    device_id: client.deviceId,
    device_function: ap?.deviceFunction ?? null,
    device_name: ap?.hostname ?? null,
    device_mac_address: ap?.macAddress ?? null,
    username: client.username,
    user_profile_name: 'staff',
    connected: online,
    online_time: timestamp(client.onlineAt),
    offline_time: online ? null : timestamp(client.offlineAt),
    vlan: VLAN,
    connection_type: 1,
    ssid: client.ssid,
    port: null,
    bssid: ap?.macAddress ?? null,
    port_type_name: null,
    interface_name: 'wifi1',
    auth: 6,
    encryption_method: 2,
    channel: 36 + (client.host % 4) * 4,
    rssi: -50 - (client.host % 30),
    snr: 40 - (client.host % 30),
    wing_ap: false,
    vendor: client.vendor,
    radio_type: 5,
    mobility: 'MOBILE',
    category: 'Workstation',
    description: '',
    client_health: 100 - (client.host % 20),
    application_health: 95,
    network_health: 97,
    radio_health: 90,
  };
}
