import type { Request, RequestHandler } from 'express';
import { HttpError } from '../../errors.ts';
import { wantsPage } from '../wants-page.ts';
import type { Access, Visitor } from './access.ts';
import type { NoteWrongToken } from './wrong-tokens.ts';

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
