import type { Clock } from '../../src/lib/clock.ts';
import { createRandom } from '../random.ts';
import { seedAlertPolicies } from './alert-policies.ts';
import type { AlertPolicy } from './alert-policies.ts';
import { seedClients } from './clients.ts';
import type { Client } from './clients.ts';
import { seedDevices } from './devices.ts';
import type { Device } from './devices.ts';
import { seedLocations } from './locations.ts';
import type { Location } from './locations.ts';
import { seedEndUsers, seedUsers } from './people.ts';
import type { EndUser, User } from './people.ts';
import { seedPolicies } from './policies.ts';
import type { NetworkPolicy, Ssid } from './policies.ts';
import { timestamp } from './seeding.ts';
import type { Account, Resource, Scale } from './seeding.ts';

/** The state of the emulated cloud, in memory. Maps are keyed by the digits of the identifier. */
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
  /** The global policy first. */
  alertPolicies: Map<string, AlertPolicy>;
  nextId: () => number;
}

/** Creates the world of a seed: the same seed, scale and time give the same world. */
export function createWorld(seed: number, scale: Scale, clock: Clock): World {
  let lastId = 837_424_400_000_000;
  const nextId = () => (lastId += 1);
  const account = createAccount(nextId, timestamp(clock.now()));
  const seeding = { random: createRandom(seed, 'world'), scale, now: clock.now(), account, nextId };
  const locations = seedLocations(seeding);
  const { networkPolicies, ssids } = seedPolicies(seeding);
  const devices = seedDevices(seeding, [...locations.values()], [...networkPolicies.values()]);
  const users = seedUsers(seeding);
  const endUsers = seedEndUsers(seeding);
  const clients = seedClients(seeding, [...devices.values()], [...endUsers.values()], [...ssids.values()]);
  const externalUsers = new Map<string, Resource>();
  const alertPolicies = seedAlertPolicies(seeding, locations);
  return {
    account,
    locations,
    devices,
    clients,
    users,
    externalUsers,
    endUsers,
    networkPolicies,
    ssids,
    alertPolicies,
    nextId,
  };
}

function createAccount(nextId: () => number, now: string): Account {
  const ownerId = nextId();
  const customerId = nextId();
  const organizations = ['Headquarters', 'Branches', 'Guests'].map((name) => ({
    id: nextId(),
    create_time: now,
    update_time: now,
    name,
    type: 'REGULAR',
  }));
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
