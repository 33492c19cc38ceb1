import { createHmac, hash, hkdfSync, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';
import { z } from 'zod';
import type { Operator } from '../../store/operator-log.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import type { Scope } from '../../store/scope.ts';
import { refuseOtherNames, refuseOtherSites, refuseProxies } from './origin.ts';
import type { AskedRequest } from './origin.ts';

/** A log-in to the console. */
interface Session {
  readonly id: string;
  /** The name entered at log-in; recorded in the operator log. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Issues and verifies session cookies. */
export interface Sessions {
  issue(name: string): { readonly session: Session; readonly value: string };
  /** The session of a cookie; undefined if it is forged, expired or revoked in this process. */
  verify(value: string | undefined): Session | undefined;
  revoke(session: Session): void;
}

/** A working day; after that, a new log-in is required. */
export const SESSION_MS = 12 * 60 * 60 * 1000;

const sessionSchema = z.object({ id: z.string(), name: z.string(), expiresAt: z.number() });

/**
 * Stateless sessions: the cookie contains name and expiry, signed with a key derived from the admin token (HKDF, RFC
 * 5869). A changed token ends all of them, and every console process with the same token accepts them. A log-out is
 * remembered by this process until the session would have expired.
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
      // Compared as text: several texts decode to the same signature.
      const offered = Buffer.from(value ?? '');
      const expected = Buffer.from(sealed(payload));
      if (offered.length !== expected.length || !timingSafeEqual(offered, expected)) return undefined;
      // Only this program signs, so signed content is a session.
      const session = sessionSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
      return session.expiresAt <= now() || revoked.has(session.id) ? undefined : session;
    },
    revoke({ id, expiresAt }) {
      for (const [other, end] of revoked) if (end <= now()) revoked.delete(other);
      revoked.set(id, expiresAt);
    },
  };
}

/** The sender of a request. */
export interface Visitor {
  readonly operator: Operator;
  /** The sources whose data the visitor may see. */
  readonly scope: Scope;
  /** Undefined for the API token, and if no token is set. */
  readonly session: Session | undefined;
}

/** Decides who has access to the console and the API. */
export interface Access {
  /** Undefined if no token is set: everyone on this machine has access. */
  readonly sessions: Sessions | undefined;
  /** The sender of a request; undefined if log-in is required. Throws HttpError 403 for requests from other sites. */
  visitorOf(request: AskedRequest): Visitor | undefined;
  isToken(offered: string): boolean;
}

/** The browser withholds it from other sites and from scripts. */
export const SESSION_COOKIE = 'xiq_sink_session';

/**
 * With a token: `Authorization: Bearer` for programs, a signed cookie for people. Without: everyone on this machine, if
 * the Host header names it, because another site could let its own name resolve to this machine.
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
          ? { operator: { name: 'API token', via: 'api' }, scope: ALL_SOURCES, session: undefined }
          : undefined;
      }
      refuseOtherSites(request);
      const session = sessions.verify(parseCookie(cookie ?? '')[SESSION_COOKIE]);
      return session && { operator: { name: session.name, via: 'console' }, scope: ALL_SOURCES, session };
    },
  };
}

function visitorHere(request: AskedRequest): Visitor {
  refuseOtherSites(request);
  refuseOtherNames(request);
  refuseProxies(request);
  const operator = { name: 'local user', via: viaOf(request.headers) };
  return { operator, scope: ALL_SOURCES, session: undefined };
}

const viaOf = (headers: IncomingHttpHeaders) =>
  headers['sec-fetch-site'] === undefined ? ('api' as const) : ('console' as const);

const sha256 = (text: string) => hash('sha256', text, 'buffer');
