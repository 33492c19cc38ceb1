import type { Clock } from './clock.ts';
import type { Journal } from './journal.ts';
import type { Random } from './random.ts';
import { auditEntry, logEntry } from './records.ts';
import { timestamp } from './timestamp.ts';
import { newPassword, newPerson } from './world-people.ts';
import type { EndUser, User } from './world-people.ts';
import type { World } from './world.ts';

/** How a new key reaches its owner. */
type Delivery = 'email' | 'sms';

/** What an end user is created from; anything more is kept. */
interface EndUserFields {
  user_name: string;
  password?: string | null | undefined;
}

/** End users with keys of their own, and the log entries that their coming and going leaves. */
export interface EndUsers {
  /** Creates one from given fields; a key is made where none is given (specification, Versioning). */
  create(actor: User, fields: EndUserFields): EndUser;
  /** Creates somebody made up, who gets the key by this way. */
  invite(actor: User, delivery: Delivery): EndUser;
  /** Gives somebody a new key. */
  regeneratePassword(endUser: EndUser): string;
  remove(actor: User, id: string): void;
}

interface Parts {
  world: World;
  journal: Journal;
  clock: Clock;
  random: Random;
}

export function createEndUsers({ world, journal, clock, random }: Parts): EndUsers {
  const { account } = world;
  const occasion = () => ({ world, at: clock.now(), orgId: account.creatingOrgId });

  function audit(event: 'ppskUserCreated' | 'ppskUserDeleted', actor: User, { user_name }: EndUser): void {
    const deed = event === 'ppskUserCreated' ? 'created' : 'deleted';
    journal.append(auditEntry(event, occasion(), actor, `Cloud PPSK user ${user_name} was ${deed}`));
  }

  function credential({ user_name }: EndUser): void {
    journal.append(
      logEntry('CREDENTIAL_LOG_ALL', occasion(), { username: user_name, vhm_id: account.vhmId }),
    );
  }

  function deliver(actor: User, { user_name }: EndUser, delivery: Delivery, tel: string): void {
    const common = { user_id: actor.id, customer_id: String(account.customerId) };
    if (delivery === 'email') {
      const members = { ...common, username: user_name, approver_email: actor.login_name };
      journal.append(logEntry('EMAIL_LOG_ALL', occasion(), { ...members, status: 'SUCCESS' }));
      return;
    }
    const isLost = random.chance(0.05);
    journal.append(
      logEntry('SMS_LOG_ALL', occasion(), {
        ...common,
        tel,
        profile_name: 'default',
        status: isLost ? 'FAIL' : 'SUCCESS',
        message_id: random.hex(16),
        status_from_provider: isLost ? 'undelivered' : 'delivered',
        provider_type: 'TWILIO',
      }),
    );
  }

  function create(actor: User, fields: EndUserFields): EndUser {
    const now = timestamp(clock.now());
    const endUser: EndUser = {
      create_time: now,
      update_time: now,
      org_id: account.creatingOrgId,
      expired_time: 0,
      ...fields,
      password: fields.password || newPassword(random),
      id: world.nextId(),
    };
    world.endUsers.set(String(endUser.id), endUser);
    audit('ppskUserCreated', actor, endUser);
    credential(endUser);
    return endUser;
  }

  return {
    create,
    invite(actor, delivery) {
      const fields = newPerson(random, world.nextId());
      const endUser = create(actor, fields);
      deliver(actor, endUser, delivery, fields.phone_number);
      return endUser;
    },
    regeneratePassword(endUser) {
      const password = newPassword(random);
      world.endUsers.set(String(endUser.id), { ...endUser, password, update_time: timestamp(clock.now()) });
      credential(endUser);
      return password;
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
