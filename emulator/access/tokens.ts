import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AUTH_TOKEN_REVOKED } from '../../src/cloud/contract/shared.ts';
import { ApiError, unauthenticated } from '../http/errors.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { permissionsOf } from './permissions.ts';
import type { User } from '../world/people.ts';
import type { World } from '../world/world.ts';

/** The user that a bearer token represents, and the permissions of the token. */
export interface Caller {
  user: User;
  permissions: readonly string[];
  token: string;
  /** The account whose data the token reads: the home account, or the one that the user switched to. */
  ownerId: number;
  /** Epoch seconds. A token without `expiresAt` does not expire. */
  issuedAt: number;
  expiresAt: number | undefined;
}

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });

/** Lifetime of a token from a log-in, in seconds. */
export const LOGIN_LIFETIME_S = 86_400;

/** Issues, reads and revokes bearer tokens. */
export interface Tokens {
  /** Issues a token with all permissions of the user's role, for the home account unless another one is given. */
  issueLogin(user: User, ownerId?: number): string;
  /** Issues a token with some permissions. `expiresAt` is in epoch seconds; undefined means that it never expires. */
  issueApiToken(user: User, permissions: readonly string[], expiresAt: number | undefined): string;
  /** Throws a 401: AUTH_TOKEN_REVOKED for a revoked token, UNAUTHENTICATED for any other invalid token. */
  read(token: string): Caller;
  /** Revokes a token. False if this service did not issue it. */
  revoke(token: string): boolean;
  /** Revokes every token issued so far. */
  revokeAll(): void;
}

/** What a token is issued for. Without `permissions` it has those of the role, without `ownerId` it reads the home account. */
interface Grant {
  ownerId?: number | undefined;
  expiresAt: number | undefined;
  permissions?: readonly string[];
}

const claimsSchema = z.object({
  sub: z.string(),
  user_id: z.int(),
  owner_id: z.int(),
  jti: z.int(),
  iat: z.int(),
  exp: z.int().optional(),
  permissions: z.array(z.string()).optional(),
});

/** The quota in the tokens of the real service: calls, and the window in seconds. */
const QUOTA_CLAIM = '7500;w=3600';

/**
 * Creates the keeper of the tokens. The signing key depends on the seed, so that tokens stay valid across restarts of
 * the emulator. Serial numbers begin with the time of the start, so that those of earlier runs are lower. Revocations
 * end with the run.
 */
export function createTokens(world: World, clock: Clock, key: string): Tokens {
  const revoked = new Set<number>();
  let serial = clock.now() * 1000;
  let revokedUpTo = 0;

  function issue(user: User, { ownerId, expiresAt, permissions }: Grant): string {
    serial += 1;
    const { account } = world;
    const issuedAt = Math.floor(clock.now() / 1000);
    return signJwt(
      {
        sub: user.login_name,
        user_id: user.id,
        role: user.user_role,
        customer_id: account.customerId,
        owner_id: ownerId ?? account.ownerId,
        org_id: account.creatingOrgId,
        data_center: account.dataCenter,
        quota: QUOTA_CLAIM,
        iss: 'xiq-emulator',
        jti: serial,
        iat: issuedAt,
        exp: expiresAt,
        permissions,
      },
      key,
    );
  }

  function claimsOf(token: string) {
    const claims = claimsSchema.safeParse(readJwt(token, key));
    if (!claims.success) throw unauthenticated('The bearer token was not issued by this service');
    return claims.data;
  }

  return {
    issueLogin: (user, ownerId) =>
      issue(user, { ownerId, expiresAt: Math.floor(clock.now() / 1000) + LOGIN_LIFETIME_S }),
    issueApiToken: (user, permissions, expiresAt) => issue(user, { expiresAt, permissions }),
    read(token) {
      const { jti, exp, iat, sub, user_id, owner_id: ownerId, permissions } = claimsOf(token);
      if (jti <= revokedUpTo || revoked.has(jti)) {
        throw new ApiError(401, AUTH_TOKEN_REVOKED, 'The token was revoked');
      }
      if (exp !== undefined && clock.now() / 1000 >= exp) throw unauthenticated('The token has expired');
      const user = world.users.get(String(user_id));
      if (user?.login_name !== sub) throw unauthenticated('The user of this token no longer exists');
      const ofRole = permissionsOf(user.user_role);
      return { user, permissions: permissions ?? ofRole, token, ownerId, issuedAt: iat, expiresAt: exp };
    },
    revoke(token) {
      const claims = claimsSchema.safeParse(readJwt(token, key));
      if (claims.success) revoked.add(claims.data.jti);
      return claims.success;
    },
    revokeAll() {
      revokedUpTo = serial;
    },
  };
}

/** Signs claims as a JSON Web Token, HS256. */
export function signJwt(claims: Readonly<Record<string, unknown>>, key: string): string {
  const signed = `${HEADER}.${encode(claims)}`;
  return `${signed}.${signature(signed, key)}`;
}

/** The claims of a token signed with this key, undefined for any other text. Does not check the expiry. */
export function readJwt(token: string, key: string): unknown {
  const [header, payload, mac, ...rest] = token.split('.');
  if (header !== HEADER || payload === undefined || mac === undefined || rest.length > 0) return undefined;
  // Compared as text, because two base64 texts can encode the same bytes.
  const expected = Buffer.from(signature(`${header}.${payload}`, key));
  const given = Buffer.from(mac);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return claims;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signature(text: string, key: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
