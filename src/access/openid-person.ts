import { hash } from 'node:crypto';
import { z } from 'zod';
import type { OpenIdConfig } from '../config/config.ts';
import { HttpError, ConflictError } from '../lib/errors.ts';
import { ROLE_PERMISSIONS, type AccountRole } from '../store/access/permissions.ts';
import {
  addAccount,
  changeAccount,
  findAccount,
  findIdentity,
  isAccountName,
  type Account,
} from '../store/access/accounts.ts';
import type { Db } from '../store/server/database.ts';
import { recordAction, SERVICE } from '../store/access/operator-log.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface Person {
  /**
   * Issuer and subject, separated by a space. Only this identifies a person (OpenID Connect Core, section 5.7): a name or
   * an address can be changed, and given to another person later, who must not get the account of the first.
   */
  readonly identity: string;
  /** The name to show and to record. Not unique. */
  readonly name: string;
  readonly role: AccountRole;
  /** Undefined: all. */
  readonly sources: readonly string[] | undefined;
}

/** Claims are checked by the library that read them; `sub` and `iss` are texts in every ID token. */
const idTokenSchema = z.looseObject({ iss: z.string(), sub: z.string() });

/**
 * The person in an ID token. Many providers put groups and names only into the response of their UserInfo endpoint, which
 * `readUserInfo` reads, but only if the ID token lacks the role claim or a name. Throws HttpError 403 if no group
 * of the person has a role or may see a source.
 */
export async function personOf(
  { roleClaim, roles, sources, scopes }: OpenIdConfig,
  idToken: Claims,
  readUserInfo: () => Promise<Claims>,
): Promise<Person> {
  const { iss, sub } = idTokenSchema.parse(idToken);
  const isComplete = valueAt(idToken, roleClaim) !== undefined && nameIn(idToken) !== undefined;
  const userInfo = isComplete ? {} : await readUserInfo();
  const listed = valueAt(idToken, roleClaim) ?? valueAt(userInfo, roleClaim);
  const groups = new Set(groupsSchema.parse(listed));

  const role = highest(roles.filter(({ group }) => groups.has(group)).map(({ value }) => value));
  if (role === undefined) {
    const reason =
      listed === undefined
        ? `your provider did not send the claim "${roleClaim}" (requested scopes: ${scopes})`
        : `no group in your claim "${roleClaim}" has a role`;
    throw noAccess(
      'NO_ROLE',
      reason,
      'An administrator can add one of your groups to OIDC_ROLES, or add you to a group listed there.',
    );
  }
  const seen = sources?.filter(({ group }) => groups.has(group)).map(({ value }) => value);
  if (seen?.length === 0) {
    const reason = `no group in your claim "${roleClaim}" may see a source`;
    throw noAccess('NO_SOURCE', reason, 'An administrator can add one of your groups to OIDC_SOURCES.');
  }
  return {
    identity: `${iss} ${sub}`,
    name: nameIn(idToken) ?? nameIn(userInfo) ?? nameSchema.safeParse(sub).data ?? hash('sha256', sub),
    role,
    sources: seen === undefined || seen.includes('*') ? undefined : [...new Set(seen)].toSorted(),
  };
}

function noAccess(code: string, reason: string, fix: string): HttpError {
  const message = `You are logged in with your provider, but have no access here: ${reason}. ${fix}`;
  return new HttpError(403, code, message);
}

/** Some providers send a single group as a text. Anything else is no group. */
const groupsSchema = z
  .union([z.array(z.unknown()), z.string().transform((group): unknown[] => [group])])
  .catch([])
  .transform((groups) => groups.filter((group) => typeof group === 'string'));

/** Control and bidirectional characters could forge lines of the operator log. */
const nameSchema = z
  .string()
  .trim()
  .regex(/^\P{C}{1,100}$/u);

/** The name in some claims; an address only if the provider verified that it belongs to the person. */
function nameIn(claims: Claims): string | undefined {
  const preferred = nameSchema.safeParse(claims['preferred_username']).data;
  return (
    preferred ?? (claims['email_verified'] === true ? nameSchema.safeParse(claims['email']).data : undefined)
  );
}

/** The claim of this name, or at this path: `realm_access.roles`. Names may contain dots themselves: `https://example.com/roles`. */
function valueAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const member of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = Reflect.get(value, member);
  }
  return value;
}

/**
 * The role with the most permissions. Neither of auditor and operator includes the other: the one that comes first in the
 * settings counts, because both together would be a role that nobody gave.
 */
function highest(roles: readonly AccountRole[]): AccountRole | undefined {
  return roles.find((role) => !roles.some((other) => includesMore(other, role)));
}

const includesMore = (one: AccountRole, other: AccountRole) =>
  ROLE_PERMISSIONS[one].size > ROLE_PERMISSIONS[other].size &&
  ROLE_PERMISSIONS[one].isSupersetOf(ROLE_PERMISSIONS[other]);

/** Logins at the same moment may want the same name, or change the same account: the next attempt finds what they did. */
const ATTEMPTS = 3;

/**
 * The account of a person, found by issuer and subject alone. The first login adds it, and gives it a name that it keeps.
 * If the provider gives the person another role or other sources than at the last login, the account is changed, which
 * ends its other sessions. Both are recorded in the operator log. Throws HttpError 403 if the account is disabled.
 */
export async function accountOf(db: Db, person: Person): Promise<Account> {
  const { identity, role, sources = null } = person;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const account = await findIdentity(db, identity);
    if (account !== undefined) {
      if (account.disabled_at !== null) throw disabled(account);
      if (account.role === role && isSame(account.sources, sources)) return account;
      const { name: subject } = account;
      const details = { role, sources: sources ?? 'all', from: 'OpenID Connect' };
      await recordAction(db, { operator: SERVICE, action: 'access.change', subject, details }, () =>
        changeAccount(db, subject, { role, sources }),
      );
      continue;
    }
    const name = await freeName(db, person);
    const details = { role, sources: sources ?? 'all', from: 'OpenID Connect', identity };
    try {
      await recordAction(db, { operator: SERVICE, action: 'access.add', subject: name, details }, () =>
        addAccount(db, { name, role, sources: sources ?? undefined, identity }),
      );
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
  throw new HttpError(503, 'ACCOUNT_BUSY', 'Your account is being changed. Try again.');
}

const isSame = (some: readonly string[] | null, others: readonly string[] | null) =>
  JSON.stringify(some?.toSorted()) === JSON.stringify(others?.toSorted());

/**
 * The name that the provider knows, or, if another account has it, the name with a digest of issuer and subject: a person
 * never gets the account of another person with that name.
 */
async function freeName(db: Db, { name, identity }: Person): Promise<string> {
  const mark = hash('sha256', identity).slice(0, 8);
  const clean = name.normalize('NFKC').replaceAll(/[\p{C}\p{Z}]+/gu, '.');
  if (!isAccountName(clean)) return `openid~${mark}`;
  return (await findAccount(db, clean)) === undefined ? clean : `${clean.slice(0, 90)}~${mark}`;
}

const disabled = ({ name }: Account) =>
  new HttpError(
    403,
    'ACCOUNT_DISABLED',
    `Your account "${name}" is disabled. An administrator can enable it.`,
  );
