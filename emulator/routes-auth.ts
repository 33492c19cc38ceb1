import { z } from 'zod';
import {
  createApiTokenRequestSchema,
  createdApiTokenSchema,
  loginRequestSchema,
  loginResponseSchema,
  MIN_API_TOKEN_LIFETIME_S,
  permissionCheckRequestSchema,
  permissionCheckResponseSchema,
  permissionListSchema,
  tokenInfoSchema,
} from '../src/cloud/contract/auth.ts';
import { EMULATOR_LOGINS } from './accounts.ts';
import { ApiError, badRequest, found } from './api-error.ts';
import type { Clock } from './clock.ts';
import { expandPattern, grants } from './grants.ts';
import type { Journal } from './journal.ts';
import { PERMISSION_NAMES, PERMISSIONS } from './permissions.ts';
import { sessionEntry } from './records.ts';
import { PERMISSIONS_OF, ROLES } from './roles.ts';
import { empty, noInput, object, openRoute, route } from './route.ts';
import type { Route } from './route.ts';
import { findRoute } from './route-match.ts';
import { timestamp } from './timestamp.ts';
import { LOGIN_LIFETIME_S } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { User } from './world-people.ts';
import type { World } from './world.ts';

interface Needs {
  world: World;
  journal: Journal;
  tokens: Tokens;
  clock: Clock;
  /** All routes of the emulator, these included. */
  allRoutes: () => readonly Route[];
}

/** The answer to a login: a bearer token and its lifetime. */
export function loginAnswer(tokens: Tokens, user: User) {
  return {
    access_token: tokens.issueLogin(user),
    token_type: 'Bearer',
    expires_in: LOGIN_LIFETIME_S,
  };
}

/** Specification, Authentication and authorization. */
export function authRoutes({ world, journal, tokens, clock, allRoutes }: Needs): Route[] {
  const tag = 'Authentication and authorization';

  function recordLogin(event: 'login' | 'logout', user: User): void {
    const occasion = { world, at: clock.now(), orgId: world.account.creatingOrgId };
    journal.append(sessionEntry(event, occasion, user, String(world.nextId())));
  }

  function checkExpiry(expireTime: number | null | undefined): number | undefined {
    if (expireTime === null || expireTime === undefined) return undefined;
    if (expireTime * 1000 < clock.now() + MIN_API_TOKEN_LIFETIME_S * 1000) {
      throw badRequest(`body.expire_time: at least ${MIN_API_TOKEN_LIFETIME_S} seconds from now`);
    }
    return expireTime;
  }

  return [
    openRoute({
      method: 'POST',
      path: '/login',
      tag,
      summary: 'Log in with name and password',
      access: 'anybody',
      input: z.object({ body: loginRequestSchema }),
      success: object(loginResponseSchema),
      handle({ body: { username, password } }) {
        const login = Object.values(EMULATOR_LOGINS).find((login) => login.username === username);
        const user = [...world.users.values()].find(({ login_name }) => login_name === username);
        if (user === undefined || login?.password !== password) {
          throw badRequest('Wrong username or password');
        }
        recordLogin('login', user);
        return loginAnswer(tokens, user);
      },
    }),
    route({
      method: 'POST',
      path: '/logout',
      tag,
      summary: 'Revoke the presented token',
      access: ['logout'],
      input: noInput,
      success: empty(),
      handle(_, { token, user }) {
        tokens.revoke(token);
        recordLogin('logout', user);
      },
    }),
    route({
      method: 'POST',
      path: '/auth/apitoken',
      tag,
      summary: 'Make an API token',
      access: ['token:new'],
      input: z.object({ body: createApiTokenRequestSchema }),
      success: object(createdApiTokenSchema),
      handle({ body }, caller) {
        const expiresAt = checkExpiry(body.expire_time);
        const permissions = effectivePermissions(body.permissions, caller.permissions);
        return {
          access_token: tokens.issueApiToken(caller.user, permissions, expiresAt),
          create_time: timestamp(clock.now()),
          expire_time: expiresAt === undefined ? null : timestamp(expiresAt * 1000),
          creator_id: caller.user.id,
          customer_id: world.account.customerId,
          description: body.description ?? null,
          permissions,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/auth/apitoken/info',
      tag,
      summary: 'Details of the presented token',
      access: ['auth:r'],
      input: noInput,
      success: object(tokenInfoSchema),
      handle: (_, { user, permissions, issuedAt, expiresAt }) => ({
        user_id: user.id,
        user_name: user.login_name,
        role: user.user_role,
        owner_id: world.account.ownerId,
        data_center: world.account.dataCenter,
        scopes: permissions,
        issued_at: timestamp(issuedAt * 1000),
        expiration_time: expiresAt === undefined ? null : timestamp(expiresAt * 1000),
        expires_in: expiresAt === undefined ? null : Math.max(0, Math.floor(expiresAt - clock.now() / 1000)),
      }),
    }),
    openRoute({
      method: 'POST',
      path: '/auth/apitoken/:validate',
      tag,
      summary: 'Check a token, given as plain text',
      access: 'anybody',
      mediaType: 'text/plain',
      input: z.object({ body: z.string().min(1) }),
      success: empty(),
      handle({ body }) {
        tokens.read(body.trim());
      },
    }),
    route({
      method: 'GET',
      path: '/auth/permissions',
      tag,
      summary: 'All permissions',
      access: ['auth:r'],
      input: noInput,
      success: { status: 200, description: 'An array', schema: permissionListSchema },
      handle: () => PERMISSIONS,
    }),
    route({
      method: 'POST',
      path: '/auth/permissions/:check',
      tag,
      summary: 'Which permissions and roles allow a call',
      access: ['perm:check'],
      input: z.object({ body: permissionCheckRequestSchema }),
      success: object(permissionCheckResponseSchema),
      handle({ body: { uri, method } }) {
        const { access } = found(findRoute(allRoutes(), method, uri), 'operation', `${method} ${uri}`);
        if (typeof access === 'string') return { permissions: [], roles: ROLES };
        return {
          permissions: PERMISSIONS.filter(({ name }) => grants([name], access)),
          roles: ROLES.filter((role) => grants(PERMISSIONS_OF[role], access)),
        };
      },
    }),
  ];
}

/** What a token carries: what is asked for, as far as its maker has it; everything the maker has when none is named. */
function effectivePermissions(
  patterns: readonly string[] | undefined,
  held: readonly string[],
): readonly string[] {
  if (patterns === undefined) return held;
  const unknown = patterns.filter((pattern) => expandPattern(pattern).length === 0);
  if (unknown.length > 0) throw badRequest(`body.permissions: no such permission: ${unknown.join(', ')}`);
  const asked = new Set(patterns.flatMap(expandPattern));
  const permissions = PERMISSION_NAMES.filter((name) => asked.has(name) && grants(held, [name]));
  if (permissions.length === 0) {
    throw new ApiError(403, 'PERMISSION_DENIED', 'The caller has none of the permissions asked for');
  }
  return permissions;
}
