import { z } from 'zod';
import { badRequest, found } from '../http/errors.ts';
import type { Clock } from '../../src/clock.ts';
import type { EndUsers } from '../events/end-users.ts';
import { int64, int64Path } from '../http/int64.ts';
import { pageOf, pageQuery, queryList } from '../http/query.ts';
import { ROLES } from '../accounts.ts';
import { noInput, object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

const byId = z.object({ id: int64Path });
const userFields = z.looseObject({
  login_name: z.string().min(1),
  display_name: z.string().optional(),
  user_role: z.enum(ROLES).optional(),
});
const userSchema = z.looseObject({ id: int64, login_name: z.string(), user_role: z.enum(ROLES) });
const grantFields = z.looseObject({ login_name: z.string().min(1) });
const externalUserSchema = grantFields.extend({ id: int64 });
const endUserFields = z.looseObject({ user_name: z.string().min(1), password: z.string().nullish() });
const endUserSchema = endUserFields.extend({ id: int64, password: z.string() });

interface Needs {
  world: World;
  clock: Clock;
  endUsers: EndUsers;
}

/** Specification, Users. */
export function userRoutes(needs: Needs): Route[] {
  return [...administratorRoutes(needs), ...externalUserRoutes(needs), ...endUserRoutes(needs)];
}

function administratorRoutes({ world, clock }: Needs): Route[] {
  const { users } = world;

  function refuseTaken(loginName: string | undefined, except?: string): void {
    const taken = [...users].find(([id, { login_name }]) => login_name === loginName && id !== except);
    if (taken !== undefined) throw badRequest('body.login_name: already used by another user');
  }

  return [
    route('GET', '/users', 'List users', {
      access: ['account-user-list', 'rmuser-list'],
      input: z.object({ query: pageQuery() }),
      success: page(userSchema),
      handle: ({ query }) => pageOf([...users.values()], query),
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
        return user;
      },
    }),
    route('GET', '/users/{id}', 'Get a user', {
      access: ['account-user-id', 'rmuser-id'],
      input: byId,
      success: object(userSchema),
      handle: ({ id }) => found(users.get(id), 'user', id),
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
        return user;
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
      handle: (_, { user }) => user,
    }),
  ];
}

function externalUserRoutes({ world, clock }: Needs): Route[] {
  const { externalUsers } = world;
  return [
    route('GET', '/users/external', 'List external users', {
      access: ['account-user-external', 'rmuser-external-list'],
      input: z.object({ query: pageQuery() }),
      success: page(externalUserSchema),
      handle: ({ query }) => pageOf([...externalUsers.values()], query),
    }),
    route('POST', '/users/external', 'Grant access to an external user', {
      access: ['account-user-external', 'rmuser'],
      input: z.object({ body: grantFields }),
      success: object(externalUserSchema),
      creates: true,
      handle({ body }) {
        const now = timestamp(clock.now());
        const user = { create_time: now, update_time: now, ...body, id: world.nextId() };
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

function endUserRoutes({ world, endUsers }: Needs): Route[] {
  const listQuery = pageQuery().extend({ usernames: queryList(z.string()).optional() });
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
      handle({ query }) {
        const names = query.usernames === undefined ? undefined : new Set(query.usernames);
        const all = [...world.endUsers.values()];
        return pageOf(
          all.filter(({ user_name }) => names?.has(user_name) ?? true),
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
