import { z } from 'zod';
import { badRequest, found } from './api-error.ts';
import type { Clock } from './clock.ts';
import type { EndUsers } from './end-users.ts';
import { int64, int64Path } from './int64.ts';
import { pageOf, pageQuery } from './paging.ts';
import { queryList } from './query.ts';
import { ROLES } from './roles.ts';
import { empty, noInput, object, page, route } from './route.ts';
import type { Route } from './route.ts';
import { timestamp } from './timestamp.ts';
import type { World } from './world.ts';

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
  const tag = 'Users';

  function refuseTaken(loginName: string | undefined, except?: string): void {
    const taken = [...users].find(([id, { login_name }]) => login_name === loginName && id !== except);
    if (taken !== undefined) throw badRequest('body.login_name: another user has it');
  }

  return [
    route({
      method: 'GET',
      path: '/users',
      tag,
      summary: 'List users',
      access: ['account-user-list', 'rmuser-list'],
      input: z.object({ query: pageQuery() }),
      success: page(userSchema),
      handle: ({ query }) => pageOf([...users.values()], query),
    }),
    route({
      method: 'POST',
      path: '/users',
      tag,
      summary: 'Create a user',
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
    route({
      method: 'GET',
      path: '/users/{id}',
      tag,
      summary: 'One user',
      access: ['account-user-id', 'rmuser-id'],
      input: byId,
      success: object(userSchema),
      handle: ({ id }) => found(users.get(id), 'user', id),
    }),
    route({
      method: 'PATCH',
      path: '/users/{id}',
      tag,
      summary: 'Change some fields of a user',
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
    route({
      method: 'DELETE',
      path: '/users/{id}',
      tag,
      summary: 'Delete a user; their tokens are no good any more',
      access: ['account-user-modify', 'rmuser'],
      input: byId,
      success: empty(),
      handle({ id }) {
        found(users.get(id), 'user', id);
        users.delete(id);
      },
    }),
    route({
      method: 'GET',
      path: '/users/me',
      tag,
      summary: 'The calling user',
      access: ['account-user-me', 'rmuser-me'],
      input: noInput,
      success: object(userSchema),
      handle: (_, { user }) => user,
    }),
  ];
}

function externalUserRoutes({ world, clock }: Needs): Route[] {
  const { externalUsers } = world;
  const tag = 'Users';
  return [
    route({
      method: 'GET',
      path: '/users/external',
      tag,
      summary: 'List external users',
      access: ['account-user-external', 'rmuser-external-list'],
      input: z.object({ query: pageQuery() }),
      success: page(externalUserSchema),
      handle: ({ query }) => pageOf([...externalUsers.values()], query),
    }),
    route({
      method: 'POST',
      path: '/users/external',
      tag,
      summary: 'Let an external user in',
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
    route({
      method: 'GET',
      path: '/users/external/{id}',
      tag,
      summary: 'One external user',
      access: ['account-user-external', 'rmuser-external-info'],
      input: byId,
      success: object(externalUserSchema),
      handle: ({ id }) => found(externalUsers.get(id), 'external user', id),
    }),
    route({
      method: 'PATCH',
      path: '/users/external/{id}',
      tag,
      summary: 'Change some fields of an external user',
      access: ['account-user-external', 'rmuser'],
      input: byId.extend({ body: grantFields.partial() }),
      success: empty(),
      handle({ id, body }) {
        const user = found(externalUsers.get(id), 'external user', id);
        externalUsers.set(id, { ...user, ...body, update_time: timestamp(clock.now()), id: user.id });
      },
    }),
    route({
      method: 'DELETE',
      path: '/users/external/{id}',
      tag,
      summary: 'Shut an external user out',
      access: ['account-user-external', 'rmuser'],
      input: byId,
      success: empty(),
      handle({ id }) {
        found(externalUsers.get(id), 'external user', id);
        externalUsers.delete(id);
      },
    }),
  ];
}

function endUserRoutes({ world, endUsers }: Needs): Route[] {
  const tag = 'Users';
  const listQuery = pageQuery().extend({ usernames: queryList(z.string()).optional() });
  return [
    route({
      method: 'POST',
      path: '/endusers/{id}/:regenerate-password',
      tag,
      summary: 'Give an end user a new password',
      access: ['enduser'],
      input: byId,
      success: object(z.object({ password: z.string() })),
      handle: ({ id }) => ({
        password: endUsers.regeneratePassword(found(world.endUsers.get(id), 'end user', id)),
      }),
    }),
    route({
      method: 'GET',
      path: '/endusers',
      tag,
      summary: 'List end users, all or those of the given names',
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
    route({
      method: 'POST',
      path: '/endusers',
      tag,
      summary: 'Create an end user; where no password is given one is made',
      access: ['enduser'],
      input: z.object({ body: endUserFields }),
      success: object(endUserSchema),
      creates: true,
      handle: ({ body }, { user }) => endUsers.create(user, body),
    }),
  ];
}
