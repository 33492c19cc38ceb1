import type { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import type { LOG_RECORD_SCHEMAS } from './log-schemas.ts';
import type { Random } from '../random.ts';
import { clientAddress } from '../world/clients.ts';
import type { Client } from '../world/clients.ts';
import type { AccessPoint } from '../world/devices.ts';
import { pathTo } from '../world/locations.ts';
import type { User } from '../world/people.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';
import type { Entry, Journal, ListedRecord } from './journal.ts';

type LogMembers<Kind extends keyof typeof LOG_RECORD_SCHEMAS> = Omit<
  z.input<(typeof LOG_RECORD_SCHEMAS)[Kind]>,
  'id' | 'org_id' | 'timestamp'
>;

/** The members of each log record without identifier, organization and time, named as in `/logs`. */
interface MembersOf {
  AUTHENTICATION_LOG_ALL: LogMembers<'auth'>;
  ACCOUNTING_LOG_ALL: LogMembers<'accounting'>;
  CREDENTIAL_LOG_ALL: LogMembers<'credential'>;
  EMAIL_LOG_ALL: LogMembers<'email'>;
  SMS_LOG_ALL: LogMembers<'sms'>;
}

/** The sources of all events: the world, the clock, chance, and the journal that the events go into. */
export interface NetworkParts {
  world: World;
  journal: Journal;
  clock: Clock;
  random: Random;
}

/** Time and place of an event. */
interface Occasion {
  world: World;
  /** Epoch milliseconds. */
  at: number;
  orgId: number;
}

/**
 * An entry of a log whose webhook payload is not documented. `/logs` lists the members that the vendor publishes. The
 * webhook payload is a guess: the same members in camelCase, with owner, organization and time as in an audit record.
 * `settled` are members that change in the log later.
 */
export function logEntry<Type extends keyof MembersOf>(
  messageType: Type,
  { world, at, orgId }: Occasion,
  members: MembersOf[Type],
  settled?: Readonly<Record<string, unknown>>,
): Entry {
  const number = world.nextId();
  const id = messageType === 'AUTHENTICATION_LOG_ALL' ? String(number) : number;
  const sent = Object.fromEntries(
    Object.entries<unknown>(members).map(([name, value]) => [camelCase(name), value] as const),
  );
  return {
    messageType,
    sent: { ownerId: world.account.ownerId, orgId, timeStamp: at, id, ...sent },
    listed: { id, ...members, org_id: orgId, timestamp: at },
    ...(settled === undefined ? {} : { settled }),
  };
}

/**
 * The audit events: the four of the specification (Audit-log delivery), and a change of devices, whose code is invented.
 * `name` is the category in `/logs/audit`.
 */
const AUDIT_EVENTS = {
  login: { code: 10001, category: 1, name: 'ADMIN' },
  logout: { code: 10002, category: 1, name: 'ADMIN' },
  devicesUpdated: { code: 20001, category: 2, name: 'DEPLOYMENT' },
  ppskUserCreated: { code: 40001, category: 3, name: 'CONFIG' },
  ppskUserDeleted: { code: 40003, category: 3, name: 'CONFIG' },
} as const;

/** An audit entry. The payload is as specified (Webhook audit-log delivery record). */
export function auditEntry(
  event: keyof typeof AUDIT_EVENTS,
  { world, at, orgId }: Occasion,
  actor: User,
  description: string,
): Entry & { listed: ListedRecord } {
  const { account } = world;
  const { code, category, name } = AUDIT_EVENTS[event];
  const organization = account.organizations.find(({ id }) => id === orgId);
  return {
    messageType: 'AUDIT_LOG_ALL',
    sent: {
      ownerId: account.ownerId,
      orgId,
      timeStamp: at,
      id: null,
      userId: actor.id,
      code,
      category,
      description,
      userName: actor.login_name,
      vhmName: account.name,
      orgName: organization?.name ?? null,
      deviceCount: null,
      hostNames: null,
      config: null,
      deviceIds: null,
    },
    listed: {
      id: world.nextId(),
      timestamp: at,
      category: name,
      user_id: actor.id,
      code,
      username: actor.login_name,
      vhm_name: account.name,
      parameters: null,
      org_id: orgId,
      description,
      full_description_id: null,
    },
  };
}

/**
 * The audit entry of a log-in or log-out, which belong to no organization. The session tells such entries apart; without
 * it they are as vague as those of the real service.
 */
export function sessionEntry(
  event: 'login' | 'logout',
  { world, at }: Omit<Occasion, 'orgId'>,
  user: User,
  session?: string,
): Entry {
  const deed = event === 'login' ? 'logged in' : 'logged out';
  const description = `User ${user.login_name} ${deed}`;
  const whole = session === undefined ? description : `${description} (session ${session})`;
  return auditEntry(event, { world, at, orgId: 0 }, user, whole);
}

/**
 * The audit entry of a new configuration for access points. The log has only the beginning of its description; the
 * whole is at `/logs/audit/full-descriptions/{id}`.
 */
export function configurationEntry(
  occasion: Occasion,
  actor: User,
  devices: readonly [AccessPoint, ...AccessPoint[]],
): Entry {
  const { world, at } = occasion;
  const names = devices.map(({ hostname }) => hostname);
  const summary = 'The configuration of devices was updated';
  const description = `${summary}: ${names.join(', ')}`;
  const entry = auditEntry('devicesUpdated', occasion, actor, description);
  const fullId = world.nextId();
  return {
    ...entry,
    sent: {
      ...entry.sent,
      deviceCount: devices.length,
      hostNames: names,
      config: { network_policy_id: devices[0].networkPolicyId, complete: true },
      deviceIds: devices.map(({ id }) => id),
    },
    listed: { ...entry.listed, description: summary, full_description_id: fullId },
    fullDescription: { id: fullId, timestamp: at, device_id: devices[0].id, description },
  };
}
/** A GDPR entry. Its members are guessed from the service's console. */
export function gdprEntry({ world, at, orgId }: Occasion, admin: string, mac: string): Entry {
  return {
    messageType: 'GDPR_LOG_ALL',
    sent: {
      ownerId: world.account.ownerId,
      orgId,
      timeStamp: at,
      logId: world.nextId(),
      startTime: at - 2000,
      endTime: at,
      status: 'COMPLETE',
      category: 'CLIENT_DATA',
      mac,
      admin,
      description: `Personal data of the client ${mac} was erased`,
    },
  };
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Uncertainty of a position, in metres. */
const UNCERTAINTY = 5;

/** The clients that an access point observed, in the form of 2016: MAC addresses in lower case. */
export function apCentricEntry(
  { world, at }: Pick<Occasion, 'world' | 'at'>,
  ap: AccessPoint,
  clients: readonly Client[],
): Entry {
  return {
    messageType: 'LOCATION_AP_CENTRIC',
    sent: {
      ownerId: String(world.account.ownerId),
      apMac: ap.macAddress.toLowerCase(),
      observations: clients.map((client) => ({
        clientMac: client.macAddress.toLowerCase(),
        ipv4: clientAddress(client),
        ipv6: null,
        ...seen(at),
        ssid: client.deviceId === null ? null : client.ssid,
        rssi: rssiAt(ap, client),
        manufacturer: client.vendor,
        os: client.os,
        ...coordinates(ap, client),
        unc: UNCERTAINTY,
        x: client.x,
        y: client.y,
      })),
    },
  };
}

/** The access points that observed a client, in the form of 2018: MAC addresses in upper case. */
export function clientCentricEntry(
  { world, at }: Pick<Occasion, 'world' | 'at'>,
  client: Client,
  observers: readonly [AccessPoint, ...AccessPoint[]],
): Entry {
  return {
    messageType: 'LOCATION_CLIENT_CENTRIC',
    sent: {
      clientMac: client.macAddress,
      ipv4: clientAddress(client),
      ...seen(at),
      ...coordinates(observers[0], client),
      deviceObservers: observers.map((ap) => ({
        apMac: ap.macAddress,
        rssi: rssiAt(ap, client),
        locationIdHierarchy: pathTo(world.locations, ap.placement.locationId).map(({ id }) => id),
      })),
    },
  };
}

/** Metres between an access point and a client on the same floor. */
export function distance({ placement }: AccessPoint, { x, y }: Client): number {
  return Math.hypot(placement.x - x, placement.y - y);
}

/** Signal strength in dBm: -40 at the access point, 1.5 less for each metre. */
function rssiAt(ap: AccessPoint, client: Client): number {
  return Math.max(-95, Math.round(-40 - 1.5 * distance(ap, client)));
}

function seen(at: number) {
  return { seenTime: timestamp(at), seenEpoch: at };
}

function coordinates({ placement }: AccessPoint, { x, y }: Client) {
  const lat = placement.latitude + (y - placement.y) / 111_000;
  const lng = placement.longitude + (x - placement.x) / 75_000;
  return { lat: Number(lat.toFixed(6)), lng: Number(lng.toFixed(6)) };
}
