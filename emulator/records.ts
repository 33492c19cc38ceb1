import type { z } from 'zod';
import type { LOG_RECORD_SCHEMAS } from '../src/cloud/contract/logs.ts';
import type { Entry, SentRecord } from './journal.ts';
import type { User } from './world-people.ts';
import type { World } from './world.ts';

type LogMembers<Kind extends keyof typeof LOG_RECORD_SCHEMAS> = Omit<
  z.input<(typeof LOG_RECORD_SCHEMAS)[Kind]>,
  'id' | 'org_id' | 'timestamp'
>;

/** The members of each log record beside its identifier, organization and time, named as `/logs` names them. */
export interface MembersOf {
  AUTHENTICATION_LOG_ALL: LogMembers<'auth'>;
  ACCOUNTING_LOG_ALL: LogMembers<'accounting'>;
  CREDENTIAL_LOG_ALL: LogMembers<'credential'>;
  EMAIL_LOG_ALL: LogMembers<'email'>;
  SMS_LOG_ALL: LogMembers<'sms'>;
}

/** When and where something happened. */
export interface Occasion {
  world: World;
  /** Epoch milliseconds. */
  at: number;
  orgId: number;
}

/**
 * An entry of one of the logs whose webhook payload is not shown: what `/logs` lists is what the vendor publishes, what
 * a webhook carries is a guess, the same members in camelCase with owner, organization and time as in an audit record.
 */
export function logEntry<Type extends keyof MembersOf>(
  messageType: Type,
  { world, at, orgId }: Occasion,
  members: MembersOf[Type],
): Entry {
  const number = world.nextId();
  const id = messageType === 'AUTHENTICATION_LOG_ALL' ? String(number) : number;
  const told = Object.entries<unknown>(members).map(([name, value]) => [camelCase(name), value] as const);
  const sent: SentRecord = Object.fromEntries<unknown>(told);
  return {
    messageType,
    sent: { ownerId: world.account.ownerId, orgId, timeStamp: at, id, ...sent },
    listed: { id, ...members, org_id: orgId, timestamp: at },
  };
}

/** The audit events of the specification (Audit-log delivery), with the category the log interface shows for them. */
export const AUDIT_EVENTS = {
  login: { code: 10001, category: 1, name: 'ADMIN' },
  logout: { code: 10002, category: 1, name: 'ADMIN' },
  ppskUserCreated: { code: 40001, category: 3, name: 'CONFIG' },
  ppskUserDeleted: { code: 40003, category: 3, name: 'CONFIG' },
} as const;

/** An audit entry; the payload has the members of the specification (Webhook audit-log delivery record). */
export function auditEntry(
  event: keyof typeof AUDIT_EVENTS,
  { world, at, orgId }: Occasion,
  actor: User,
  description: string,
): Entry {
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
    },
  };
}

/** The audit entry of a user who logs in or out; the session tells such entries apart. */
export function sessionEntry(
  event: 'login' | 'logout',
  occasion: Occasion,
  user: User,
  session: string,
): Entry {
  const deed = event === 'login' ? 'logged in' : 'logged out';
  return auditEntry(event, occasion, user, `User ${user.login_name} ${deed} (session ${session})`);
}

/** A GDPR entry: all its members are guessed from what the service's console shows of one. */
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
