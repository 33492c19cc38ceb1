import { z } from 'zod';
import { AUTH_TOKEN_REVOKED } from '../src/cloud/contract/shared.ts';
import { ApiError, unauthenticated } from './api-error.ts';
import type { Clock } from './clock.ts';
import { readJwt, signJwt } from './jwt.ts';
import { PERMISSIONS_OF } from './roles.ts';
import type { User } from './world-people.ts';
import type { World } from './world.ts';

/** Who calls: the user a bearer token speaks for, and what it lets them do. */
export interface Caller {
  user: User;
  permissions: readonly string[];
  token: string;
  /** Epoch seconds; a token without `expiresAt` does not expire. */
  issuedAt: number;
  expiresAt: number | undefined;
}

/** Lifetime of a token from a login, in seconds. */
export const LOGIN_LIFETIME_S = 86_400;

/** Issues, reads and revokes bearer tokens. */
export interface Tokens {
  /** A token with everything the user's role allows, for one login. */
  issueLogin(user: User): string;
  /** A long-lived token with some permissions; `expiresAt` in epoch seconds, undefined for one without end. */
  issueApiToken(user: User, permissions: readonly string[], expiresAt: number | undefined): string;
  /** Throws a 401: AUTH_TOKEN_REVOKED for a revoked token, UNAUTHENTICATED for any other that is no good. */
  read(token: string): Caller;
  /** Whether this service issued it, and it is revoked now. */
  revoke(token: string): boolean;
  /** Revokes every token issued so far. */
  revokeAll(): void;
}

const claimsSchema = z.object({
  sub: z.string(),
  user_id: z.int(),
  jti: z.int(),
  iat: z.int(),
  exp: z.int().optional(),
  permissions: z.array(z.string()).optional(),
});

/** The service says so of its own tokens: calls and the window in seconds. */
const QUOTA_CLAIM = '7500;w=3600';

/**
 * The signing key belongs to the seed, so that a token outlives a restart of the emulator. Serial numbers start at the
 * time of the start, so that those of an earlier run are lower; revocations end with the run.
 */
export function createTokens(world: World, clock: Clock, key: string): Tokens {
  const revoked = new Set<number>();
  let serial = clock.now() * 1000;
  let revokedUpTo = 0;

  function issue(user: User, expiresAt: number | undefined, permissions?: readonly string[]): string {
    serial += 1;
    const { account } = world;
    const issuedAt = Math.floor(clock.now() / 1000);
    return signJwt(
      {
        sub: user.login_name,
        user_id: user.id,
        role: user.user_role,
        customer_id: account.customerId,
        owner_id: account.ownerId,
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
    issueLogin: (user) => issue(user, Math.floor(clock.now() / 1000) + LOGIN_LIFETIME_S),
    issueApiToken: (user, permissions, expiresAt) => issue(user, expiresAt, permissions),
    read(token) {
      const { jti, exp, iat, sub, user_id, permissions } = claimsOf(token);
      if (jti <= revokedUpTo || revoked.has(jti)) {
        throw new ApiError(401, AUTH_TOKEN_REVOKED, 'The token was revoked');
      }
      if (exp !== undefined && clock.now() / 1000 >= exp) throw unauthenticated('The token has expired');
      const user = world.users.get(String(user_id));
      if (user?.login_name !== sub) throw unauthenticated('The user of this token does not exist any more');
      const ofRole = PERMISSIONS_OF[user.user_role];
      return { user, permissions: permissions ?? ofRole, token, issuedAt: iat, expiresAt: exp };
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
