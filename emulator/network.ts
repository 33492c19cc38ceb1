import type { MessageType } from '../src/domain.ts';
import type { Clock } from './clock.ts';
import type { EndUsers } from './end-users.ts';
import type { Journal } from './journal.ts';
import { createMovement } from './network-movement.ts';
import { createSessions } from './network-sessions.ts';
import type { Random } from './random.ts';
import { gdprEntry, sessionEntry } from './records.ts';
import type { User } from './world-people.ts';
import type { World } from './world.ts';

/** What the parts of the network share. */
export interface NetworkParts {
  world: World;
  journal: Journal;
  clock: Clock;
  random: Random;
}

/** The life of the network: each call lets something happen and puts all that follows from it into the journal. */
export interface Network {
  /**
   * Lets something happen that gives at least one event of this type, where the world still has what that takes (an
   * access point, a client, a user).
   */
  happen(type: MessageType): void;
}

export function createNetwork(parts: NetworkParts & { endUsers: EndUsers; users: number }): Network {
  const { world, journal, clock, random, endUsers, users } = parts;
  const sessions = createSessions(parts);
  const movement = createMovement(parts, sessions);
  const loggedIn = new Set<number>();

  function occasion() {
    return { world, at: clock.now(), orgId: world.account.creatingOrgId };
  }

  function administer(): void {
    const user = random.pickAny([...world.users.values()]);
    if (user === undefined) return;
    if (random.chance(0.4)) comeOrGo(user);
    else logInOrOut(user);
  }

  function logInOrOut(user: User): void {
    const event = loggedIn.has(user.id) ? 'logout' : 'login';
    if (event === 'login') loggedIn.add(user.id);
    else loggedIn.delete(user.id);
    journal.append(sessionEntry(event, occasion(), user, random.hex(8)));
  }

  /** End users come and go around the number there were at the start. */
  function comeOrGo(actor: User): void {
    const grows = random.chance(world.endUsers.size > users ? 0.3 : 0.7);
    const leaving = grows ? undefined : random.pickAny([...world.endUsers.keys()]);
    if (leaving === undefined) endUsers.invite(actor, random.chance(0.5) ? 'email' : 'sms');
    else endUsers.remove(actor, leaving);
  }

  function inviteBy(delivery: 'email' | 'sms'): void {
    const actor = random.pickAny([...world.users.values()]);
    if (actor === undefined) return;
    if (world.endUsers.size > users * 1.2) {
      const oldest = world.endUsers.keys().next().value;
      if (oldest !== undefined) endUsers.remove(actor, oldest);
    }
    endUsers.invite(actor, delivery);
  }

  function erase(): void {
    const client = random.pickAny([...world.clients.values()]);
    const admin = random.pickAny([...world.users.values()]);
    if (client === undefined || admin === undefined) return;
    journal.append(gdprEntry(occasion(), admin.login_name, client.macAddress));
  }

  const happenings: Readonly<Record<MessageType, () => void>> = {
    LOCATION_AP_CENTRIC: movement.observeAtAccessPoint,
    LOCATION_CLIENT_CENTRIC: movement.observeClient,
    AUDIT_LOG_ALL: administer,
    GDPR_LOG_ALL: erase,
    CREDENTIAL_LOG_ALL: () => {
      inviteBy(random.chance(0.5) ? 'email' : 'sms');
    },
    ACCOUNTING_LOG_ALL: sessions.account,
    AUTHENTICATION_LOG_ALL: sessions.authenticate,
    EMAIL_LOG_ALL: () => {
      inviteBy('email');
    },
    SMS_LOG_ALL: () => {
      inviteBy('sms');
    },
  };

  return {
    happen: (type) => {
      happenings[type]();
    },
  };
}
