import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';
import type { Operator } from '../../store/operator-log.ts';
import { refuseOtherNames, refuseOtherSites, refuseProxies } from './origin.ts';
import type { AskedRequest } from './origin.ts';
import { createSessions } from './sessions.ts';
import type { Session, Sessions } from './sessions.ts';

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
