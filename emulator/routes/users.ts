import { z } from 'zod';
import { visibleTo } from '../access/visibility.ts';
import { ROLES, SPECIFIED_ROLES } from '../accounts.ts';
import type { Role } from '../accounts.ts';
import { badRequest, found } from '../http/errors.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { EndUsers } from '../events/end-users.ts';
import type { Dialect } from '../dialects.ts';
import { int64, int64Path } from '../http/int64.ts';
import { pageOf, pageQuery, queryList, queryRepeated } from '../http/query.ts';
import { noInput, object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { User } from '../world/people.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

const byId = z.object({ id: int64Path });
const userSchema = z.looseObject({ id: int64, login_name: z.string(), user_role: z.string() });
const externalUserSchema = z.looseObject({ id: int64, login_name: z.string() });
const endUserFields = z.looseObject({ user_name: z.string().min(1), password: z.string().nullish() });
const endUserSchema = endUserFields.extend({ id: int64, password: z.string() });

interface Needs {
  world: World;
  clock: Clock;
  endUsers: EndUsers;
  dialect: Dialect;
}

/** Specification, Users. */
export function userRoutes(needs: Needs): Route[] {
  return [...administratorRoutes(needs), ...externalUserRoutes(needs), ...endUserRoutes(needs)];
}

/** A role as a dialect spells it: `Administrator` in the specification, `ADMINISTRATOR` in the published interface. */
function spellRole(dialect: Dialect, role: Role): string {
  return dialect === 'spec' ? role : role.toUpperCase().replaceAll(' ', '_');
}

/** Reads the roles that a dialect knows, in its spelling. */
function roleSchema(dialect: Dialect) {
  const known = dialect === 'spec' ? SPECIFIED_ROLES : ROLES;
  const roles = new Map<string, Role>(known.map((role) => [spellRole(dialect, role), role]));
  return z.enum([...roles.keys()]).transform((spelling) => roles.get(spelling) ?? 'Operator');
}

function administratorRoutes({ world, clock, dialect }: Needs): Route[] {
  const { users } = world;
  const userFields = z.looseObject({
    login_name: z.string().min(1),
    display_name: z.string().optional(),
    user_role: roleSchema(dialect).optional(),
  });
  const recordOf = (user: User) => ({ ...user, user_role: spellRole(dialect, user.user_role) });

  function refuseTaken(loginName: string | undefined, except?: string): void {
    const taken = [...users].find(([id, { login_name }]) => login_name === loginName && id !== except);
    if (taken !== undefined) throw badRequest('body.login_name: already used by another user');
  }

  return [
    route('GET', '/users', 'List users', {
      access: ['account-user-list', 'rmuser-list'],
      input: z.object({ query: pageQuery() }),
      success: page(userSchema),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        return pageOf([...users.values()].filter(({ org_id }) => isVisible(org_id)).map(recordOf), query);
      },
    }),
    route('POST', '/users', 'Create a user', {
      access: ['account-user-create', 'rmuser'],
      input: z.object({ body: userFields }),
      success: object(userSchema, 201),
      creates: true,
      handle({ body }) {
        refuseTaken(body.login_name);
        const now = timestamp(clock.now());
        const user = {
          create_time: now,
          update_time: now,
          org_id: world.account.creatingOrgId,
          ...body,
          display_name: body.display_name ?? body.login_name,
          user_role: body.user_role ?? 'Operator',
          id: world.nextId(),
        };
        users.set(String(user.id), user);
        return recordOf(user);
      },
    }),
    route('GET', '/users/{id}', 'Get a user', {
      access: ['account-user-id', 'rmuser-id'],
      input: byId,
      success: object(userSchema),
      handle: ({ id }) => recordOf(found(users.get(id), 'user', id)),
    }),
    route('PATCH', '/users/{id}', 'Change the given fields of a user', {
      access: ['account-user-modify', 'rmuser'],
      input: byId.extend({ body: userFields.partial() }),
      success: object(userSchema),
      handle({ id, body }) {
        const old = found(users.get(id), 'user', id);
        refuseTaken(body.login_name, id);
        const user = {
          ...old,
          ...body,
          login_name: body.login_name ?? old.login_name,
          display_name: body.display_name ?? old.display_name,
          user_role: body.user_role ?? old.user_role,
          update_time: timestamp(clock.now()),
          id: old.id,
        };
        users.set(id, user);
        return recordOf(user);
      },
    }),
    route('DELETE', '/users/{id}', 'Delete a user and invalidate all tokens of the user', {
      access: ['account-user-modify', 'rmuser'],
      input: byId,
      handle({ id }) {
        found(users.get(id), 'user', id);
        users.delete(id);
      },
    }),
    route('GET', '/users/me', 'Get the calling user', {
      access: ['account-user-me', 'rmuser-me'],
      input: noInput,
      success: object(userSchema),
      handle: (_, { user }) => recordOf(user),
    }),
  ];
}

function externalUserRoutes({ world, clock, dialect }: Needs): Route[] {
  const { externalUsers } = world;
  const grantFields = z.looseObject({ login_name: z.string().min(1) });
  return [
    route('GET', '/users/external', 'List external users', {
      access: ['account-user-external', 'rmuser-external-list'],
      input: z.object({ query: pageQuery() }),
      success: page(externalUserSchema),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        return pageOf(
          [...externalUsers.values()].filter((user) => isVisible(user['org_id'])),
          query,
        );
      },
    }),
    route('POST', '/users/external', 'Grant access to an external user', {
      access: ['account-user-external', 'rmuser'],
      input: z.object({ body: grantFields }),
      success: object(externalUserSchema),
      creates: true,
      handle({ body }) {
        const now = timestamp(clock.now());
        const user = {
          create_time: now,
          update_time: now,
          user_role: spellRole(dialect, 'Operator'),
          org_id: world.account.creatingOrgId,
          ...body,
          id: world.nextId(),
        };
        externalUsers.set(String(user.id), user);
        return user;
      },
    }),
    route('GET', '/users/external/{id}', 'Get an external user', {
      access: ['account-user-external', 'rmuser-external-info'],
      input: byId,
      success: object(externalUserSchema),
      handle: ({ id }) => found(externalUsers.get(id), 'external user', id),
    }),
    route('PATCH', '/users/external/{id}', 'Change the given fields of an external user', {
      access: ['account-user-external', 'rmuser'],
      input: byId.extend({ body: grantFields.partial() }),
      handle({ id, body }) {
        const user = found(externalUsers.get(id), 'external user', id);
        externalUsers.set(id, { ...user, ...body, update_time: timestamp(clock.now()), id: user.id });
      },
    }),
    route('DELETE', '/users/external/{id}', 'Revoke the access of an external user', {
      access: ['account-user-external', 'rmuser'],
      input: byId,
      handle({ id }) {
        found(externalUsers.get(id), 'external user', id);
        externalUsers.delete(id);
      },
    }),
  ];
}

function endUserRoutes({ world, endUsers, dialect }: Needs): Route[] {
  const names = dialect === 'spec' ? queryList(z.string()) : queryRepeated(z.string());
  const listQuery = pageQuery().extend({ usernames: names.optional() });
  return [
    route('POST', '/endusers/{id}/:regenerate-password', 'Generate a new password for an end user', {
      access: ['enduser'],
      input: byId,
      success: object(z.object({ password: z.string() })),
      handle: ({ id }) => ({
        password: endUsers.regeneratePassword(found(world.endUsers.get(id), 'end user', id)),
      }),
    }),
    route('GET', '/endusers', 'List end users, all or by name', {
      access: ['enduser:r'],
      input: z.object({ query: listQuery }),
      success: page(endUserSchema),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        const wanted = query.usernames === undefined ? undefined : new Set(query.usernames);
        const all = [...world.endUsers.values()];
        return pageOf(
          all.filter(({ user_name, org_id }) => isVisible(org_id) && (wanted?.has(user_name) ?? true)),
          query,
        );
      },
    }),
    route('POST', '/endusers', 'Create an end user, with a generated password unless one is given', {
      access: ['enduser'],
      input: z.object({ body: endUserFields }),
      success: object(endUserSchema),
      creates: true,
      handle: ({ body }, { user }) => endUsers.create(user, body),
    }),
  ];
}
