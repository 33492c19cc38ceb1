import type { NonEmpty } from '../random.ts';
import type { Device } from './devices.ts';
import type { EndUser } from './people.ts';
import type { Ssid } from './policies.ts';
import { address, byId } from './seeding.ts';
import type { Seeding } from './seeding.ts';

/** A session of a client on the network, the source of accounting records. Times are in epoch milliseconds. */
export interface Session {
  id: string;
  startedAt: number;
  inputOctets: number;
  outputOctets: number;
}

/** A client device. Times are in epoch milliseconds. */
export interface Client {
  id: number;
  macAddress: string;
  hostname: string;
  os: string;
  vendor: string;
  username: string;
  /** The broadcast name of the SSID. */
  ssid: string;
  host: number;
  /** Position in metres on the floor of its access point. */
  x: number;
  y: number;
  deviceId: number | null;
  onlineAt: number;
  offlineAt: number;
  session: Session | null;
}

const KINDS: NonEmpty<{ os: string; vendor: string; oui: string }> = [
  { os: 'iOS', vendor: 'Apple', oui: 'F0D1A9' },
  { os: 'Android', vendor: 'Samsung', oui: '8425DB' },
  { os: 'Windows', vendor: 'Intel', oui: '3C6AA7' },
  { os: 'Linux', vendor: 'Raspberry Pi', oui: 'B827EB' },
];

/** Clients of the end users. Six in ten are online. */
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

/** A session without traffic so far. */
export function newSession(id: string, startedAt: number): Session {
  return { id, startedAt, inputOctets: 0, outputOctets: 0 };
}

/** The IPv4 address of a client. */
export function clientAddress({ host }: Client): string {
  return address('10.20', host);
}
