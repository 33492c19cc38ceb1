import express from 'express';
import type { CookieOptions, NextFunction, Request, Response, Router } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { renderDocument } from '../html/html.ts';
import { SESSION_COOKIE } from './access.ts';
import type { Access } from './access.ts';
import { logInPage } from './log-in-page.ts';
import { comesFromElsewhere, refuseOtherSites } from './origin.ts';
import { SESSION_MS } from './sessions.ts';
import type { NoteWrongToken } from './wrong-tokens.ts';

export interface LogInOptions {
  readonly access: Access;
  readonly noteWrongToken: NoteWrongToken;
  readonly db: Db;
}

const form = z.object({
  // Control characters, and what turns the direction of writing, would forge lines of the operator log.
  name: z
    .string()
    .trim()
    .regex(/^\P{C}{1,100}$/u),
  token: z.string(),
  next: z.string().default('/'),
});

/** `/login` and `/logout`. */
export function serveLogIn({ access, noteWrongToken, db }: LogInOptions): Router {
  const router = express.Router({ caseSensitive: true });
  const { sessions } = access;
  if (sessions === undefined) return router;

  router.get('/login', (request, response) => {
    const next = pathWithin(new URL(request.url, 'http://localhost').searchParams.get('next') ?? '/');
    // Who follows a link from another site brings no cookie, logged in or not: the way on from here brings it.
    if (comesFromElsewhere(request)) response.send(renderDocument(logInPage(next, { goesOn: true })));
    else if (access.visitorOf(request) !== undefined) response.redirect(303, next);
    else response.send(renderDocument(logInPage(next)));
  });

  router.post(
    '/login',
    refuseFirst,
    express.urlencoded({ extended: false, limit: '8kb' }),
    async (request, response) => {
      const { data } = form.safeParse(request.body);
      if (data === undefined) {
        const problem = 'Give a name of at most 100 characters, and the admin token.';
        response.status(400).send(renderDocument(logInPage('/', { problem })));
        return;
      }
      const next = pathWithin(data.next);
      if (!access.isToken(data.token)) {
        await noteWrongToken(request);
        const notice = { problem: 'That is not the admin token.', name: data.name };
        response.status(401).send(renderDocument(logInPage(next, notice)));
        return;
      }
      const operator = { name: data.name, via: 'console' } as const;
      const { value } = await recordAction(db, { operator, action: 'console.login' }, async () =>
        sessions.issue(data.name),
      );
      response.cookie(SESSION_COOKIE, value, { ...cookieOptions(request), maxAge: SESSION_MS });
      response.redirect(303, next);
    },
  );

  router.post('/logout', refuseFirst, async (request, response) => {
    const visitor = access.visitorOf(request);
    response.clearCookie(SESSION_COOKIE, cookieOptions(request));
    if (visitor?.session !== undefined) {
      sessions.revoke(visitor.session);
      await recordAction(db, { operator: visitor.operator, action: 'console.logout' }, async () => undefined);
    }
    response.redirect(303, '/login');
  });

  return router;
}

/** Before a body is read. */
function refuseFirst(request: Request, _response: Response, next: NextFunction): void {
  refuseOtherSites(request);
  next();
}

/** Who lies about the protocol harms himself: his browser does not keep the cookie. So any proxy is believed. */
function cookieOptions({ secure, headers }: Request): CookieOptions {
  const isTls = secure || headers['x-forwarded-proto'] === 'https';
  return { httpOnly: true, sameSite: 'strict', secure: isTls, path: '/' };
}

/** An address within the console, whatever was asked for: `//host` and `/\host` would lead elsewhere. */
function pathWithin(next: string): string {
  const base = 'http://console.invalid';
  if (!URL.canParse(next, base)) return '/';
  const { origin, pathname, search } = new URL(next, base);
  const isWithin = origin === base && !pathname.startsWith('//') && pathname !== '/login';
  return isWithin ? `${pathname}${search}` : '/';
}
