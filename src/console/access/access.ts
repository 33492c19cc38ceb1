import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie } from 'cookie';
import { RefusedError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import type { Operator } from '../../store/operator-log.ts';
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
  /** Who asks; undefined when he has to log in. Throws RefusedError when the request is another site's. */
  visitorOf(request: AskedRequest): Visitor | undefined;
  isToken(offered: string): boolean;
}

/** What of a request decides. */
export interface AskedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Kept from other sites' pages and scripts by the browser itself. */
export const SESSION_COOKIE = 'xiq_sink_session';

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * With a token: `Authorization: Bearer` for programs, a signed cookie for people. Without: whoever is on this machine,
 * and then the Host header has to name it, for a page of another site could have its own name point here.
 */
export function createAccess(token: string | undefined): Access {
  const sessions = token === undefined ? undefined : createSessions(token);
  const digest = sha256(token ?? '');
  const isToken = (offered: string) =>
    timingSafeEqual(sha256(offered), digest) && token !== undefined && offered !== '';

  return {
    sessions,
    isToken,
    visitorOf({ method, headers }) {
      const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
      if (sessions !== undefined && bearer !== undefined) {
        return isToken(bearer)
          ? { operator: { name: 'API token', via: 'api' }, session: undefined }
          : undefined;
      }
      if (!SAFE_METHODS.has(method)) refuseOtherSites(headers);
      if (sessions === undefined) {
        refuseOtherNames(headers);
        return { operator: { name: 'somebody on this machine', via: viaOf(headers) }, session: undefined };
      }
      const session = sessions.verify(parseCookie(headers.cookie ?? '')[SESSION_COOKIE]);
      return session && { operator: { name: session.name, via: 'console' }, session };
    },
  };
}

/** Browsers tell where a request comes from (Fetch Metadata, or Origin); other programs need no protection. */
export function refuseOtherSites(headers: IncomingHttpHeaders): void {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isOwn =
    site === undefined
      ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
      : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new RefusedError(403, 'OTHER_SITE', 'the request comes from a page of another site');
}

function refuseOtherNames({ host }: IncomingHttpHeaders): void {
  const address = `http://${host ?? ''}`;
  if (URL.canParse(address) && isLoopback(new URL(address))) return;
  const message = 'without ADMIN_TOKEN only this machine is answered, by its own name (localhost, 127.0.0.1)';
  throw new RefusedError(403, 'OTHER_HOST', message);
}

const viaOf = (headers: IncomingHttpHeaders) =>
  headers['sec-fetch-site'] === undefined ? ('api' as const) : ('console' as const);

const sha256 = (text: string) => hash('sha256', text, 'buffer');
