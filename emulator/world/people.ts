import { EMULATOR_LOGINS } from '../accounts.ts';
import type { Role } from '../accounts.ts';
import type { NonEmpty, Random } from '../random.ts';
import { byId, timestamp } from './seeding.ts';
import type { Resource, Seeding } from './seeding.ts';

/** A user who administers the account. */
export interface User extends Resource {
  id: number;
  login_name: string;
  display_name: string;
  user_role: Role;
}

/** An end user: uses the network with a private pre-shared key (PPSK). */
export interface EndUser extends Resource {
  id: number;
  user_name: string;
}

// prettier-ignore
const FIRST: NonEmpty<string> = ['Ada', 'Björn', 'Chloé', 'Dina', 'Emre', 'Farah', 'Gil', 'Hana', 'Ivo', 'Jun'];
// prettier-ignore
const LAST: NonEmpty<string> = ['Abbott', 'Berg', 'Costa', 'Dvořák', 'Eze', 'Fiore', 'Gupta', 'Haas', 'Ito', 'Jin'];
const USERS_PER_ADMINISTRATOR = 20;

/** The two documented logins, and further administrators, who appear in the audit log. */
export function seedUsers({ scale, random, now, nextId, account }: Seeding): Map<string, User> {
  const user = (login_name: string, display_name: string, user_role: Role): User => ({
    id: nextId(),
    create_time: timestamp(now),
    update_time: timestamp(now),
    login_name,
    display_name,
    user_role,
    idle_timeout: 30,
    org_id: account.creatingOrgId,
  });
  const logins = Object.values(EMULATOR_LOGINS).map(({ username, role }) => user(username, role, role));
  const colleagues = Array.from({ length: Math.ceil(scale.users / USERS_PER_ADMINISTRATOR) }, (_, index) => {
    const name = fullName(random);
    return user(
      `${mailbox(name, index)}@emulator.test`,
      name,
      index % 3 === 0 ? 'Administrator' : 'Operator',
    );
  });
  return byId([...logins, ...colleagues]);
}

/** The end users at the start. */
export function seedEndUsers(seeding: Seeding): Map<string, EndUser> {
  const { scale, random, nextId, account, now } = seeding;
  const group = nextId();
  return byId(
    Array.from({ length: scale.users }, (): EndUser => {
      const id = nextId();
      return {
        ...newPerson(random, id),
        id,
        create_time: timestamp(now),
        update_time: timestamp(now),
        org_id: account.creatingOrgId,
        user_group_id: group,
        user_group_name: 'Employees',
        approval_type: '',
        password: newPassword(random),
        expired_time: 0,
      };
    }),
  );
}

/** An invented person with e-mail address and telephone number. `number` tells people of the same name apart. */
export function newPerson(random: Random, number: number) {
  const name = fullName(random);
  return {
    name,
    user_name: mailbox(name, number % 1_000_000),
    email_address: `${mailbox(name, number % 1_000_000)}@emulator.test`,
    phone_number: `+1555${String(random.int(0, 9_999_999)).padStart(7, '0')}`,
  };
}

/** A random key. */
export function newPassword(random: Random): string {
  return random.hex(12).toLowerCase();
}

function fullName(random: Random): string {
  return `${random.pick(FIRST)} ${random.pick(LAST)}`;
}

/** A name as in an e-mail address: without accents, in lower case, numbered. */
function mailbox(name: string, index: number): string {
  const letters = name.normalize('NFD').replaceAll(/[^A-Za-z ]/g, '');
  return `${letters.toLowerCase().replace(' ', '.')}.${index}`;
}
