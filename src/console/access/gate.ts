import express, { type Request, type RequestHandler } from 'express';
import { refuseOtherSites } from '../../access/origin.ts';
import { HttpError } from '../../lib/errors.ts';
import type { RefusalLog } from '../../ingest/refusal-log.ts';
import { remoteAddressOf } from '../../ingest/remote-address.ts';
import { type Access, type Visitor, hasAccess, type Rule } from './access.ts';

/** Whether the request is for a page, and not for data. */
export function wantsPage({ path, headers }: Pick<Request, 'path' | 'headers'>): boolean {
  return !path.startsWith('/api/') && (headers.accept ?? '').includes('text/html');
}

/** Refuses the forms of other sites, before the body is read. */
export const refuseFirst: RequestHandler = (request, _response, next) => {
  refuseOtherSites(request);
  next();
};

/** Reads a form of our own pages. */
export const readForm: readonly RequestHandler[] = [
  refuseFirst,
  express.urlencoded({ extended: false, limit: '8kb' }),
];

/** What happens with requests that are refused without access. */
export interface Refusals {
  /** Counts wrong tokens by address; resolves with the seconds to wait after too many. */
  readonly countFailure: (address: string) => Promise<number | undefined>;
  /** Logs a refused request: the first of an address in a minute; others are counted. */
  readonly logRefusal: RefusalLog['add'];
}

/** A request that is refused with this status, for the log. */
export const refusalOf = (request: Request, status: number) => {
  const { method, path } = request;
  return { remote: remoteAddressOf(request), status, method, path };
};

/**
 * Logs and counts the wrong token of a request. Throws HttpError 429 after too many from its address: only wrong tokens are
 * answered so, and people behind the same address cannot lock each other out.
 */
export async function recordWrongToken(
  request: Request,
  { countFailure, logRefusal }: Refusals,
): Promise<void> {
  const retryAfter = await countFailure(remoteAddressOf(request));
  if (retryAfter === undefined) {
    logRefusal(refusalOf(request, 401), 'console: wrong token');
    return;
  }
  const message = `too many wrong tokens; try again in ${retryAfter} s`;
  throw new HttpError(429, 'TOO_MANY_WRONG_TOKENS', message, { retryAfter });
}

/** How often a stream checks that its visitor still has access. */
const RECHECK_MS = 2_000;

/**
 * Fires when the visitor of a streamed answer loses access: when the session ends, the account is disabled or loses the
 * permission or a source, or the token expires. While access cannot be checked, the stream continues.
 */
export function watchAccess(access: Access, request: Request, rule: Rule): AbortSignal {
  const lost = new AbortController();
  const { operator, sources } = visitorOf(request);
  const isSame = (now: Visitor) =>
    now.operator.name === operator.name && JSON.stringify(now.sources) === JSON.stringify(sources);
  const recheck = async () => {
    const now = await access.visitorOf(request).catch(() => 'unknown' as const);
    if (now === 'unknown' || (now !== undefined && isSame(now) && hasAccess(now, rule))) return;
    clearInterval(timer);
    lost.abort();
  };
  const timer = setInterval(() => void recheck(), RECHECK_MS);
  request.res?.once('close', () => clearInterval(timer));
  return lost.signal;
}

const visitors = new WeakMap<Request, Visitor>();

/** Admits requests with access and remembers their visitor. Otherwise redirects people to the login page; programs get 401. */
export function requireVisitor(access: Access, refusals: Refusals, hasLogIn: boolean): RequestHandler {
  return async (request, response, next) => {
    const visitor = await access.visitorOf(request);
    if (visitor !== undefined) {
      visitors.set(request, visitor);
      next();
      return;
    }
    if (request.headers.authorization !== undefined) await recordWrongToken(request, refusals);
    if (hasLogIn && request.method === 'GET' && wantsPage(request)) {
      response.redirect(303, `/login?next=${encodeURIComponent(request.originalUrl)}`);
      return;
    }
    response.set('WWW-Authenticate', 'Bearer');
    const message = 'missing or wrong token; send ADMIN_TOKEN or an API token as Authorization: Bearer TOKEN';
    throw new HttpError(401, 'UNAUTHORIZED', message);
  };
}

/** Admits visitors with access under this rule, before the body is read. */
export function requireAccess(rule: Rule): RequestHandler {
  return (request, _response, next) => {
    assertAccess(visitorOf(request), rule);
    next();
  };
}

/** The one place where access is enforced. Throws HttpError 403 if the visitor has none under this rule. */
export function assertAccess(visitor: Visitor, rule: Rule): void {
  if (!visitor.permissions.has(rule.needs)) {
    const message = `your role (${visitor.role}) does not have the permission ${rule.needs}`;
    throw new HttpError(403, 'FORBIDDEN', message);
  }
  if (!hasAccess(visitor, rule)) {
    throw new HttpError(403, 'ALL_SOURCES_REQUIRED', 'this requires access to all sources');
  }
}

/** The visitor of this request; undefined without access. */
export const visitorIfAny = (request: Request): Visitor | undefined => visitors.get(request);

/** The visitor of this request. Throws if the request did not pass the gate. */
export function visitorOf(request: Request): Visitor {
  const visitor = visitors.get(request);
  if (visitor === undefined) throw new Error(`${request.path} was served without the gate`);
  return visitor;
}
