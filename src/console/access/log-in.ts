import express from 'express';
import type { CookieOptions, Request, Response, Router } from 'express';
import { z } from 'zod';
import { RefusedError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { renderDocument } from '../html/html.ts';
import { refuseOtherSites, SESSION_COOKIE } from './access.ts';
import type { Access } from './access.ts';
import { logInPage } from './log-in-page.ts';
import { SESSION_MS } from './sessions.ts';

/** Counts wrong tokens by address; gives the seconds to wait once there were too many. */
export type CountFailure = (address: string) => Promise<number | undefined>;

export interface LogInOptions {
  readonly access: Access;
  readonly countFailure: CountFailure;
  readonly db: Db;
}

const form = z.object({
  name: z.string().trim().min(1).max(100),
  token: z.string(),
  next: z.string().default('/'),
});

/** `/login` and `/logout`. */
export function serveLogIn({ access, countFailure, db }: LogInOptions): Router {
  const router = express.Router();
  const { sessions } = access;
  if (sessions === undefined) return router;

  router.get('/login', (request, response) => {
    const next = new URL(request.url, 'http://localhost').searchParams.get('next') ?? '/';
    response.send(renderDocument(logInPage(next)));
  });

  router.post('/login', express.urlencoded({ extended: false, limit: '8kb' }), async (request, response) => {
    refuseOtherSites(request.headers);
    const { data } = form.safeParse(request.body);
    if (data === undefined || !access.isToken(data.token)) {
      await refuse(request, response, data?.next ?? '/');
      return;
    }
    const operator = { name: data.name, via: 'console' } as const;
    const { value } = await recordAction(db, { operator, action: 'console.login' }, async () =>
      sessions.issue(data.name),
    );
    response.cookie(SESSION_COOKIE, value, { ...cookieOptions(request), maxAge: SESSION_MS });
    response.redirect(303, pathWithin(data.next));
  });

  router.post('/logout', async (request, response) => {
    const visitor = access.visitorOf(request);
    if (visitor?.session !== undefined) {
      sessions.revoke(visitor.session);
      await recordAction(db, { operator: visitor.operator, action: 'console.logout' }, async () => undefined);
    }
    response.clearCookie(SESSION_COOKIE, cookieOptions(request));
    response.redirect(303, '/login');
  });

  async function refuse(request: Request, response: Response, next: string): Promise<void> {
    const retryAfter = await countFailure(request.socket.remoteAddress ?? '');
    if (retryAfter !== undefined) {
      throw new RefusedError(
        429,
        'TOO_MANY_WRONG_TOKENS',
        `too many wrong tokens; try again in ${retryAfter} s`,
        {
          retryAfter,
        },
      );
    }
    response.status(401).send(renderDocument(logInPage(next, 'That is not the admin token.')));
  }

  return router;
}

function cookieOptions({ secure }: Request): CookieOptions {
  return { httpOnly: true, sameSite: 'strict', secure, path: '/' };
}

/** An address within the console, whatever was asked for: `//host` and `/\host` would lead elsewhere. */
function pathWithin(next: string): string {
  const base = 'http://console.invalid';
  if (!URL.canParse(next, base)) return '/';
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith('//') ? `${pathname}${search}` : '/';
}
