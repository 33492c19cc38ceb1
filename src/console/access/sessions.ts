import { createHmac, hkdfSync, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** Who has logged in to the console. */
export interface Session {
  readonly id: string;
  /** The name that was given at log-in; stands in the operator log. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Makes and checks the value of the session cookie. */
export interface Sessions {
  issue(name: string): { readonly session: Session; readonly value: string };
  /** The session of a cookie; undefined when it is forged, over, or was logged out here. */
  verify(value: string | undefined): Session | undefined;
  revoke(session: Session): void;
}

/** A working day; then the token is asked for again. */
export const SESSION_MS = 12 * 60 * 60 * 1000;

const sessionSchema = z.object({ id: z.string(), name: z.string(), expiresAt: z.number() });

/**
 * Sessions that hold themselves: the cookie carries who and until when, signed with a key made from the admin token
 * (HKDF, RFC 5869). Another token ends them all, and every console process with the same token knows them. Who logs
 * out is remembered by this process until the session would have ended.
 */
export function createSessions(token: string, now: () => number = Date.now): Sessions {
  const key = Buffer.from(hkdfSync('sha256', token, '', 'xiq-sink console session', 32));
  const revoked = new Map<string, number>();
  const sealed = (payload: string) =>
    `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`;
  return {
    issue(name) {
      const session = { id: randomUUID(), name, expiresAt: now() + SESSION_MS };
      const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
      return { session, value: sealed(payload) };
    },
    verify(value) {
      const [payload = ''] = value?.split('.') ?? [];
      // Compared as it is written: decoded, several texts would be one signature.
      const offered = Buffer.from(value ?? '');
      const expected = Buffer.from(sealed(payload));
      if (offered.length !== expected.length || !timingSafeEqual(offered, expected)) return undefined;
      // Only this program signs, so what is signed is a session.
      const session = sessionSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
      return session.expiresAt <= now() || revoked.has(session.id) ? undefined : session;
    },
    revoke({ id, expiresAt }) {
      for (const [other, end] of revoked) if (end <= now()) revoked.delete(other);
      revoked.set(id, expiresAt);
    },
  };
}
