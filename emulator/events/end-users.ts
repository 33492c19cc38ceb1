import { newPassword, newPerson } from '../world/people.ts';
import type { EndUser, User } from '../world/people.ts';
import { timestamp } from '../world/seeding.ts';
import { auditEntry, logEntry } from './records.ts';
import type { NetworkParts } from './records.ts';

/** The way in which a key reaches its owner. */
export type Delivery = 'email' | 'sms';

/** The members of a new end user. Further members are kept. */
interface EndUserFields {
  user_name: string;
  password?: string | null | undefined;
}

/** End users with private keys, and the log entries about them. */
export interface EndUsers {
  /** Creates an end user, with a random key unless `fields` contain one (specification, Versioning). */
  create(actor: User, fields: EndUserFields): EndUser;
  /** Creates an invented end user and sends the key. */
  invite(actor: User, delivery: Delivery): void;
  /** Replaces the key of an end user; returns the new one. */
  regeneratePassword(endUser: EndUser): string;
  /** Replaces the key of an end user and sends the new one. */
  sendNewKey(actor: User, endUser: EndUser, delivery: Delivery): void;
  remove(actor: User, id: string): void;
}

/** Creates the keeper of the end users. */
export function createEndUsers({ world, journal, clock, random }: NetworkParts): EndUsers {
  const { account } = world;
  const occasion = () => ({ world, at: clock.now(), orgId: account.creatingOrgId });

  function audit(event: 'ppskUserCreated' | 'ppskUserDeleted', actor: User, { user_name }: EndUser): void {
    const deed = event === 'ppskUserCreated' ? 'created' : 'deleted';
    journal.append(auditEntry(event, occasion(), actor, `Cloud PPSK user ${user_name} was ${deed}`));
  }

  function credential({ user_name }: EndUser): void {
    const members = { username: user_name, vhm_id: account.vhmId };
    journal.append(logEntry('CREDENTIAL_LOG_ALL', occasion(), members));
  }

  function deliver(actor: User, { user_name, phone_number: tel = '' }: EndUser, delivery: Delivery): void {
    const common = { user_id: actor.id, customer_id: String(account.customerId) };
    if (delivery === 'email') {
      const members = {
        ...common,
        username: user_name,
        approver_email: actor.login_name,
        status: 'SEND_OUT',
      };
      journal.append(logEntry('EMAIL_LOG_ALL', occasion(), members, { status: 'SUCCESS' }));
      return;
    }
    const isLost = random.chance(0.05);
    const members = {
      ...common,
      tel: String(tel),
      profile_name: 'default',
      status: 'SEND_OUT' as const,
      message_id: random.hex(16),
      status_from_provider: 'sent',
      provider_type: 'TWILIO',
    };
    const settled = isLost
      ? { status: 'FAIL', status_from_provider: 'undelivered' }
      : { status: 'SUCCESS', status_from_provider: 'delivered' };
    journal.append(logEntry('SMS_LOG_ALL', occasion(), members, settled));
  }

  function create(actor: User, fields: EndUserFields): EndUser {
    const now = timestamp(clock.now());
    const endUser: EndUser = {
      create_time: now,
      update_time: now,
      org_id: account.creatingOrgId,
      expired_time: 0,
      name: fields.user_name,
      email_address: '',
      phone_number: '',
      user_group_id: 0,
      user_group_name: '',
      approval_type: '',
      ...fields,
      password: fields.password || newPassword(random),
      id: world.nextId(),
    };
    world.endUsers.set(String(endUser.id), endUser);
    audit('ppskUserCreated', actor, endUser);
    credential(endUser);
    return endUser;
  }

  function regeneratePassword(endUser: EndUser): string {
    const password = newPassword(random);
    world.endUsers.set(String(endUser.id), { ...endUser, password, update_time: timestamp(clock.now()) });
    credential(endUser);
    return password;
  }

  return {
    create,
    invite(actor, delivery) {
      deliver(actor, create(actor, newPerson(random, world.nextId())), delivery);
    },
    regeneratePassword,
    sendNewKey(actor, endUser, delivery) {
      regeneratePassword(endUser);
      deliver(actor, endUser, delivery);
    },
    remove(actor, id) {
      const endUser = world.endUsers.get(id);
      if (endUser === undefined) return;
      world.endUsers.delete(id);
      audit('ppskUserDeleted', actor, endUser);
      credential(endUser);
    },
  };
}
