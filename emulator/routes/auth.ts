import { z } from 'zod';
import {
  tokenInfoSchema,
  loginResponseSchema,
  permissionCheckResponseSchema,
} from '../../src/cloud/contract/auth.ts';
import { EMULATOR_LOGINS, SPECIFIED_ROLES } from '../accounts.ts';
import { ApiError, badRequest, found } from '../http/errors.ts';
import type { Clock } from '../../src/lib/clock.ts';
import {
  expandPattern,
  grants,
  permissionsOf,
  PERMISSION_NAMES,
  PERMISSIONS,
} from '../access/permissions.ts';
import type { Journal } from '../events/journal.ts';
import { sessionEntry } from '../events/records.ts';
import { noInput, object, openRoute, route, findRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { timestamp } from '../world/seeding.ts';
import { LOGIN_LIFETIME_S } from '../access/tokens.ts';
import type { Tokens } from '../access/tokens.ts';
import type { User } from '../world/people.ts';
import type { World } from '../world/world.ts';
import { createApiTokenRequestSchema, createdApiTokenSchema, loginRequestSchema } from '../contract/auth.ts';
import { MIN_API_TOKEN_LIFETIME_S, permissionCheckRequestSchema } from '../contract/auth.ts';
import { permissionListSchema } from '../contract/auth.ts';

interface Needs {
  world: World;
  journal: Journal;
  tokens: Tokens;
  clock: Clock;
  /** All routes of the emulator, including these. */
  allRoutes: () => readonly Route[];
}

/** The answer to a log-in: a bearer token for an account, by default the home account, and its lifetime in seconds. */
export function loginAnswer(tokens: Tokens, user: User, ownerId?: number) {
  return {
    access_token: tokens.issueLogin(user, ownerId),
    token_type: 'Bearer',
    expires_in: LOGIN_LIFETIME_S,
  };
}

/** Specification, Authentication and authorization. */
export function authRoutes({ world, journal, tokens, clock, allRoutes }: Needs): Route[] {
  function recordLogin(event: 'login' | 'logout', user: User): void {
    const occasion = { world, at: clock.now(), orgId: world.account.creatingOrgId };
    journal.append(sessionEntry(event, occasion, user, String(world.nextId())));
  }

  function checkExpiry(expireTime: number | null | undefined): number | undefined {
    if (expireTime === null || expireTime === undefined) return undefined;
    if (expireTime * 1000 < clock.now() + MIN_API_TOKEN_LIFETIME_S * 1000) {
      throw badRequest(`body.expire_time: must be at least ${MIN_API_TOKEN_LIFETIME_S} seconds from now`);
    }
    return expireTime;
  }

  return [
    openRoute('POST', '/login', 'Log in with user name and password', {
      access: 'public',
      input: z.object({ body: loginRequestSchema }),
      success: object(loginResponseSchema),
      handle({ body: { username, password } }) {
        const login = Object.values(EMULATOR_LOGINS).find((login) => login.username === username);
        const user = [...world.users.values()].find(({ login_name }) => login_name === username);
        if (user === undefined || login?.password !== password) {
          throw badRequest('Invalid user name or password');
        }
        recordLogin('login', user);
        return loginAnswer(tokens, user);
      },
    }),
    route('POST', '/logout', 'Log out: revoke the token of this call', {
      access: ['logout'],
      input: noInput,
      handle(_, { token, user }) {
        tokens.revoke(token);
        recordLogin('logout', user);
      },
    }),
    route('POST', '/auth/apitoken', 'Create an API token', {
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
    route('GET', '/auth/apitoken/info', 'Get the details of the token of this call', {
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
    openRoute('POST', '/auth/apitoken/:validate', 'Validate a token, sent as plain text', {
      access: 'public',
      mediaType: 'text/plain',
      input: z.object({ body: z.string().min(1) }),
      handle({ body }) {
        tokens.read(body.trim());
      },
    }),
    route('GET', '/auth/permissions', 'List all permissions', {
      access: ['auth:r'],
      input: noInput,
      success: { status: 200, description: 'An array', schema: permissionListSchema },
      handle: () => PERMISSIONS,
    }),
    route('POST', '/auth/permissions/:check', 'List the permissions and roles that allow a call', {
      access: ['perm:check'],
      input: z.object({ body: permissionCheckRequestSchema }),
      success: object(permissionCheckResponseSchema),
      handle({ body: { uri, method } }) {
        const { access } = found(findRoute(allRoutes(), method, uri), 'operation', `${method} ${uri}`);
        if (typeof access === 'string') return { permissions: [], roles: SPECIFIED_ROLES };
        return {
          permissions: PERMISSIONS.filter(({ name }) => grants([name], access)),
          roles: SPECIFIED_ROLES.filter((role) => grants(permissionsOf(role), access)),
        };
      },
    }),
  ];
}

/** The permissions of a new token: the requested ones that its creator has, or all of the creator's if none is named. */
function effectivePermissions(
  patterns: readonly string[] | undefined,
  held: readonly string[],
): readonly string[] {
  if (patterns === undefined) return held;
  const unknown = patterns.filter((pattern) => expandPattern(pattern).length === 0);
  if (unknown.length > 0) throw badRequest(`body.permissions: unknown: ${unknown.join(', ')}`);
  const asked = new Set(patterns.flatMap(expandPattern));
  const permissions = PERMISSION_NAMES.filter((name) => asked.has(name) && grants(held, [name]));
  if (permissions.length === 0) {
    throw new ApiError(403, 'PERMISSION_DENIED', 'The caller has none of the requested permissions');
  }
  return permissions;
}
