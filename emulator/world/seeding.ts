import type { Int64 } from '../http/int64.ts';
import type { Random } from '../random.ts';

/** The size of the network at the start. */
export interface Scale {
  devices: number;
  clients: number;
  /** End users with a private pre-shared key (PPSK). There is one administrator for every twenty of them. */
  users: number;
}

/** A configuration resource of no stated shape: it keeps all members of its last update, beside its identifier. */
export interface Resource {
  id: Int64;
  [member: string]: unknown;
}

/** The one account of an emulator, and its virtual instance. */
export interface Account {
  ownerId: number;
  customerId: number;
  vhmId: string;
  name: string;
  dataCenter: string;
  organizations: readonly (Resource & { id: number; name: string })[];
  readingOrgIds: number[];
  creatingOrgId: number;
}

/** The source of the first devices, clients and people. `now` is in epoch milliseconds. */
export interface Seeding {
  random: Random;
  scale: Scale;
  now: number;
  account: Account;
  nextId: () => number;
}

/** A map keyed by the digits of the identifier. */
export function byId<T extends { id: number }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [String(item.id), item]));
}

/** A time as the cloud writes it: `YYYY-MM-DDThh:mm:ss.SSS+0000`. */
export function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '+0000');
}

/** The IPv4 address of the n-th host of a /16 network, whose first two octets are given. */
export function address(network: string, host: number): string {
  return `${network}.${Math.floor(host / 250) % 250}.${(host % 250) + 2}`;
}
