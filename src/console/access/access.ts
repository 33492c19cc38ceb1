import { createHmac, hash, hkdfSync, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';
import { z } from 'zod';
import type { Operator } from '../../store/operator-log.ts';
import { refuseOtherNames, refuseOtherSites, refuseProxies } from './origin.ts';
import type { AskedRequest } from './origin.ts';

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

/** Who asks. */
export interface Visitor {
  readonly operator: Operator;
  /** Of a log-in; undefined for the API token, and where no token is set. */
  readonly session: Session | undefined;
}

/** Decides who may see the console and use the API. */
export interface Access {
  /** Undefined: no token is set, and everybody on this machine may. */
  readonly sessions: Sessions | undefined;
  /** Who asks; undefined when he has to log in. Throws HttpError when the request is another site's. */
  visitorOf(request: AskedRequest): Visitor | undefined;
  isToken(offered: string): boolean;
}

/** Kept from other sites' pages and scripts by the browser itself. */
export const SESSION_COOKIE = 'xiq_sink_session';

/**
 * With a token: `Authorization: Bearer` for programs, a signed cookie for people. Without: whoever is on this machine,
 * and then the Host header has to name it, for a page of another site could have its own name point here.
 */
export function createAccess(token: string | undefined): Access {
  if (token === undefined) return { sessions: undefined, visitorOf: visitorHere, isToken: () => false };
  const sessions = createSessions(token);
  const digest = sha256(token);
  const isToken = (offered: string) => timingSafeEqual(sha256(offered), digest);

  return {
    sessions,
    isToken,
    visitorOf(request) {
      const { authorization, cookie } = request.headers;
      const bearer = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
      if (bearer !== undefined) {
        return isToken(bearer)
          ? { operator: { name: 'API token', via: 'api' }, session: undefined }
          : undefined;
      }
      refuseOtherSites(request);
      const session = sessions.verify(parseCookie(cookie ?? '')[SESSION_COOKIE]);
      return session && { operator: { name: session.name, via: 'console' }, session };
    },
  };
}

function visitorHere(request: AskedRequest): Visitor {
  refuseOtherSites(request);
  refuseOtherNames(request);
  refuseProxies(request);
  const operator = { name: 'somebody on this machine', via: viaOf(request.headers) };
  return { operator, session: undefined };
}

const viaOf = (headers: IncomingHttpHeaders) =>
  headers['sec-fetch-site'] === undefined ? ('api' as const) : ('console' as const);

const sha256 = (text: string) => hash('sha256', text, 'buffer');
