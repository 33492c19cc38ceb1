import { accessPoints } from '../world/devices.ts';
import type { User } from '../world/people.ts';
import { createAlerts } from './alerts.ts';
import { createClientEvents } from './client-events.ts';
import type { Delivery, EndUsers } from './end-users.ts';
import type { CloudType } from '../../src/events/domain.ts';
import { configurationEntry, gdprEntry, sessionEntry } from './records.ts';
import type { NetworkParts } from './records.ts';

/** The life of the network: each event, and all that follows from it, goes into the journal. */
export interface Network {
  /**
   * Causes at least one event of this type, unless the world lacks what the event needs (an access point, a client, a
   * user).
   */
  happen(type: CloudType): void;
}

/** As in a real account, most audit events are log-ins and log-outs. */
const CONFIGURATION_SHARE = 0.3;

/** The share of configuration changes that concern devices, not end users. */
const DEVICES_SHARE = 0.3;
const MAX_DEVICES = 5;

/** How many audit events that are alike happen at once. */
const ALIKE = 3;

interface NetworkOptions extends NetworkParts {
  endUsers: EndUsers;
  users: number;
  /** The share of audit events that cannot be told apart, at present. */
  alike: () => number;
}

/** Creates the network. The number of end users stays around `users`. */
export function createNetwork(parts: NetworkOptions): Network {
  const { world, journal, clock, random, endUsers, users, alike } = parts;
  const { authenticate, account, observeAtAccessPoint, observeClient } = createClientEvents(parts);
  const loggedIn = new Set<number>();

  const occasion = () => ({ world, at: clock.now(), orgId: world.account.creatingOrgId });
  const someUser = () => random.pickAny([...world.users.values()]);
  const someDelivery = (): Delivery => (random.chance(0.5) ? 'email' : 'sms');

  function administer(): void {
    const user = someUser();
    if (user === undefined) return;
    if (random.chance(alike())) logInManyTimes(user);
    else if (!random.chance(CONFIGURATION_SHARE)) logInOrOut(user);
    else if (random.chance(DEVICES_SHARE)) updateDevices(user);
    else addOrRemoveEndUser(user);
  }

  function logInOrOut(user: User): void {
    const event = loggedIn.has(user.id) ? 'logout' : 'login';
    if (event === 'login') loggedIn.add(user.id);
    else loggedIn.delete(user.id);
    journal.append(sessionEntry(event, occasion(), user, random.hex(8)));
  }

  /** Log-ins of a user within one millisecond, with a description that tells nothing apart. */
  function logInManyTimes(user: User): void {
    for (let times = 0; times < ALIKE; times += 1) journal.append(sessionEntry('login', occasion(), user));
  }

  function updateDevices(user: User): void {
    const all = accessPoints(world.devices);
    const first = random.int(0, Math.max(0, all.length - 1));
    const [device, ...others] = all.slice(first, first + random.int(1, MAX_DEVICES));
    if (device === undefined) logInOrOut(user);
    else journal.append(configurationEntry(occasion(), user, [device, ...others]));
  }

  function addOrRemoveEndUser(actor: User): void {
    const grows = random.chance(world.endUsers.size > users ? 0.3 : 0.7);
    const leaving = grows ? undefined : random.pickAny([...world.endUsers.keys()]);
    if (leaving === undefined) endUsers.invite(actor, someDelivery());
    else endUsers.remove(actor, leaving);
  }

  /** An end user receives a new key. If there is none, the first one is created. */
  function sendKey(delivery: Delivery): void {
    const actor = someUser();
    if (actor === undefined) return;
    const endUser = random.pickAny([...world.endUsers.values()]);
    if (endUser === undefined) endUsers.invite(actor, delivery);
    else endUsers.sendNewKey(actor, endUser, delivery);
  }

  function erase(): void {
    const client = random.pickAny([...world.clients.values()]);
    const admin = someUser();
    if (client === undefined || admin === undefined) return;
    journal.append(gdprEntry(occasion(), admin.login_name, client.macAddress));
  }

  const happenings: Readonly<Record<CloudType, () => void>> = {
    LOCATION_AP_CENTRIC: observeAtAccessPoint,
    LOCATION_CLIENT_CENTRIC: observeClient,
    AUDIT_LOG_ALL: administer,
    GDPR_LOG_ALL: erase,
    CREDENTIAL_LOG_ALL: () => sendKey(someDelivery()),
    ACCOUNTING_LOG_ALL: account,
    AUTHENTICATION_LOG_ALL: authenticate,
    EMAIL_LOG_ALL: () => sendKey('email'),
    SMS_LOG_ALL: () => sendKey('sms'),
    ALERT: createAlerts(parts),
  };

  return {
    happen: (type) => {
      happenings[type]();
    },
  };
}
