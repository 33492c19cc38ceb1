import { hash } from 'node:crypto';
import express from 'express';
import type { CookieOptions, NextFunction, Request, Response, Router } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { html, renderDocument } from '../html/html.ts';
import { headOf } from '../html/layout.ts';
import { SESSION_COOKIE, SESSION_MS } from './access.ts';
import type { Access } from './access.ts';
import type { NoteWrongToken } from './gate.ts';
import { comesFromElsewhere, refuseOtherSites } from './origin.ts';

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

/** In the page itself, for nothing else is served to who has not logged in. */
const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: light-dark(#f4f5f7, #14171a); color: light-dark(#1b1f24, #e6e9ec); }
main { box-sizing: border-box; width: min(22rem, 100vw - 2rem); padding: 1.5rem; border: 1px solid light-dark(#d5d9de, #343a41); border-radius: .5rem; background: light-dark(#fff, #1d2126); }
h1 { margin: 0 0 1rem; font-size: 1.25rem; }
label { display: block; margin: .75rem 0 .25rem; }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; border: 1px solid light-dark(#7d8590, #7d8590); border-radius: .25rem; background: light-dark(#fff, #14171a); color: inherit; }
small { color: light-dark(#59626d, #a3acb5); }
button { width: 100%; margin-top: 1.25rem; padding: .6rem; font: inherit; font-weight: 600; border: 0; border-radius: .25rem; background: light-dark(#0b57c2, #2467c4); color: #fff; cursor: pointer; }
:focus-visible { outline: 3px solid light-dark(#0b57c2, #7fb2ff); outline-offset: 2px; }
[role=alert] { margin: 0 0 .75rem; padding: .5rem .75rem; border-left: 4px solid #c62828; background: light-dark(#fdecea, #3a1d1d); }
`;

/** The hash that lets the style into the page (CSP Level 3, section 2.3.1). */
export const LOG_IN_STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

/** What a log-in page says beside its form. */
export interface LogInNotice {
  readonly problem?: string;
  /** As it was given, when only the token was wrong. */
  readonly name?: string;
  /** Whether it goes on to `next` at once, which leads back to it who is not logged in. */
  readonly goesOn?: boolean;
}

/** The log-in page; `next` is the address within the console to go on to. */
export function logInPage(next: string, { problem, name, goesOn = false }: LogInNotice = {}): VNode {
  return html`
    <html lang="en">
      ${headOf(
        'Log in',
        html`
          ${goesOn && html`<meta http-equiv="refresh" content=${`0; url=${next}`} />`}
          <link rel="icon" href="data:," />
          <style dangerouslySetInnerHTML=${{ __html: STYLE }}></style>
        `,
      )}
      <body>
        <main>
          <h1>xiq-sink</h1>
          ${problem !== undefined && html`<p role="alert">${problem}</p>`}
          <form method="post" action="/login">
            <input type="hidden" name="next" value=${next} />
            <label for="name">Your name</label>
            <input
              id="name"
              name="name"
              value=${name}
              autocomplete="username"
              required
              maxlength="100"
              autofocus=${name === undefined}
            />
            <small>Stands in the operator log beside what you change.</small>
            <label for="token">Admin token</label>
            <input
              id="token"
              name="token"
              type="password"
              autocomplete="current-password"
              required
              autofocus=${name !== undefined}
            />
            <small>The setting ADMIN_TOKEN of this service.</small>
            <button>Log in</button>
          </form>
        </main>
      </body>
    </html>
  `;
}
