import type { Clock } from './clock.ts';
import { createRandom } from './random.ts';
import type { Random } from './random.ts';
import { seedClients } from './world-clients.ts';
import type { Client } from './world-clients.ts';
import { seedDevices } from './world-devices.ts';
import type { Device } from './world-devices.ts';
import { seedLocations } from './world-locations.ts';
import type { Location } from './world-locations.ts';
import { seedEndUsers, seedUsers } from './world-people.ts';
import type { EndUser, User } from './world-people.ts';
import { seedPolicies } from './world-policies.ts';
import type { NetworkPolicy, Ssid } from './world-policies.ts';

/** How much there is at the start. */
export interface Scale {
  devices: number;
  clients: number;
  /** End users with a private pre-shared key; one administrator for every twenty of them. */
  users: number;
}

/** A configuration resource whose shape is not stated: it keeps what it is given, beside its identifier. */
export interface Resource {
  id: number | bigint;
  [member: string]: unknown;
}

/** The one account the emulator holds, and its virtual instance. */
export interface Account {
  ownerId: number;
  customerId: number;
  vhmId: string;
  name: string;
  dataCenter: string;
  organizations: readonly { id: number; name: string }[];
  readingOrgIds: number[];
  creatingOrgId: number;
}

/** Everything the emulator knows, in memory. Maps are keyed by the digits of the identifier. */
export interface World {
  account: Account;
  locations: Map<string, Location>;
  devices: Map<string, Device>;
  clients: Map<string, Client>;
  users: Map<string, User>;
  externalUsers: Map<string, Resource>;
  endUsers: Map<string, EndUser>;
  networkPolicies: Map<string, NetworkPolicy>;
  ssids: Map<string, Ssid>;
  nextId: () => number;
}

/** What seeding draws on. */
export interface Seeding {
  random: Random;
  scale: Scale;
  now: number;
  account: Account;
  nextId: () => number;
}

/** Creates the world of a seed: the same seed, scale and time give the same world. */
export function createWorld(seed: number, scale: Scale, clock: Clock): World {
  let lastId = 837_424_400_000_000;
  const nextId = () => (lastId += 1);
  const account = createAccount(nextId);
  const seeding = { random: createRandom(seed, 'world'), scale, now: clock.now(), account, nextId };
  const locations = seedLocations(seeding);
  const { networkPolicies, ssids } = seedPolicies(seeding);
  const devices = seedDevices(seeding, [...locations.values()], [...networkPolicies.values()]);
  const users = seedUsers(seeding);
  const endUsers = seedEndUsers(seeding);
  const clients = seedClients(seeding, [...devices.values()], [...endUsers.values()], [...ssids.values()]);
  return {
    account,
    locations,
    devices,
    clients,
    users,
    externalUsers: new Map(),
    endUsers,
    networkPolicies,
    ssids,
    nextId,
  };
}

/** A map keyed by identifier. */
export function byId<T extends { id: number | bigint }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [String(item.id), item]));
}

function createAccount(nextId: () => number): Account {
  const ownerId = nextId();
  const customerId = nextId();
  const organizations = ['Headquarters', 'Branches', 'Guests'].map((name) => ({ id: nextId(), name }));
  return {
    ownerId,
    customerId,
    vhmId: 'VHM-EMULATR',
    name: 'Emulated Networks',
    dataCenter: 'EMULATED_RDC',
    organizations,
    readingOrgIds: organizations.map(({ id }) => id),
    creatingOrgId: organizations[0]?.id ?? 0,
  };
}
