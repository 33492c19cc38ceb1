import type { IncomingHttpHeaders } from 'node:http';
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { HttpError } from '../../errors.ts';
import type { Access, Visitor } from './access.ts';

interface AskedFor {
  readonly path: string;
  readonly headers: Pick<IncomingHttpHeaders, 'accept'>;
}

/** Whether a browser asks for a page, and not a program or a script of a page for data. */
export function wantsPage({ path, headers }: AskedFor): boolean {
  return !path.startsWith('/api/') && (headers.accept ?? '').includes('text/html');
}

/** Counts wrong tokens by address; gives the seconds to wait once there were too many. */
export type CountFailure = (address: string) => Promise<number | undefined>;

/** Counts the wrong token of a request. Throws HttpError 429 once its address has sent too many. */
export type NoteWrongToken = (request: Request) => Promise<void>;

/**
 * The address is the connection's own, whatever headers say. Only a wrong token is ever answered 429: so it does not
 * matter that all people behind a proxy have its address, and nobody locks another out.
 */
export function createWrongTokens(countFailure: CountFailure, logger: Logger): NoteWrongToken {
  return async ({ socket: { remoteAddress = '' } }) => {
    const retryAfter = await countFailure(remoteAddress);
    if (retryAfter === undefined) {
      logger.warn({ address: remoteAddress }, 'console: a wrong ADMIN_TOKEN');
      return;
    }
    const message = `too many wrong tokens; try again in ${retryAfter} s`;
    throw new HttpError(429, 'TOO_MANY_WRONG_TOKENS', message, { retryAfter });
  };
}

/** What the gate before everything needs. */
export interface GateOptions {
  readonly access: Access;
  readonly noteWrongToken: NoteWrongToken;
  /** Whether there is a log-in page to send people to. */
  readonly hasLogIn: boolean;
}

const visitors = new WeakMap<Request, Visitor>();

/** Lets in who may come in, and remembers who it is. People are sent to the log-in page, programs get 401. */
export function requireVisitor({ access, noteWrongToken, hasLogIn }: GateOptions): RequestHandler {
  return async (request, response, next) => {
    const visitor = access.visitorOf(request);
    if (visitor !== undefined) {
      visitors.set(request, visitor);
      next();
      return;
    }
    if (request.headers.authorization !== undefined) await noteWrongToken(request);
    if (hasLogIn && request.method === 'GET' && wantsPage(request)) {
      response.redirect(303, `/login?next=${encodeURIComponent(request.originalUrl)}`);
      return;
    }
    response.set('WWW-Authenticate', 'Bearer');
    throw new HttpError(401, 'UNAUTHORIZED', 'send the admin token: Authorization: Bearer ADMIN_TOKEN');
  };
}

/** Who was let in with this request; undefined when nobody was. */
export function letInWith(request: Request): Visitor | undefined {
  return visitors.get(request);
}

/** Who was let in with this request. Throws where the gate is not in front. */
export function visitorOf(request: Request): Visitor {
  const visitor = visitors.get(request);
  if (visitor === undefined) throw new Error(`nobody was let in to ${request.path}`);
  return visitor;
}
