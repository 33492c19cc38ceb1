import { hash } from 'node:crypto';
import express from 'express';
import type { CookieOptions, NextFunction, Request, Response, Router } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { html, renderDocument } from '../html/html.ts';
import { headOf } from '../html/layout.ts';
import type { SchemaGate } from '../schema-gate.ts';
import { SESSION_COOKIE, SESSION_MS } from './access.ts';
import type { Access } from './access.ts';
import type { NoteWrongToken } from './gate.ts';
import { comesFromElsewhere, refuseOtherSites } from './origin.ts';

export interface LogInOptions {
  readonly access: Access;
  readonly noteWrongToken: NoteWrongToken;
  readonly db: Db;
  /** Throws HttpError 503 while the database is being prepared: a log-in is recorded there. */
  readonly checkSchema: SchemaGate;
}

const form = z.object({
  // Control and bidirectional characters could forge lines of the operator log.
  name: z
    .string()
    .trim()
    .regex(/^\P{C}{1,100}$/u),
  token: z.string(),
  next: z.string().default('/'),
});

/** `/login` and `/logout`. */
export function serveLogIn({ access, noteWrongToken, db, checkSchema }: LogInOptions): Router {
  const router = express.Router({ caseSensitive: true });
  const { sessions } = access;
  if (sessions === undefined) return router;

  router.get('/login', (request, response) => {
    const next = pathWithin(new URL(request.url, 'http://localhost').searchParams.get('next') ?? '/');
    // A link from another site carries no cookie, logged in or not: the redirect from this page does.
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
        const problem = 'Enter a name of at most 100 characters and the admin token.';
        response.status(400).send(renderDocument(logInPage('/', { problem })));
        return;
      }
      const next = pathWithin(data.next);
      if (!access.isToken(data.token)) {
        await noteWrongToken(request);
        const notice = { problem: 'Wrong admin token.', name: data.name };
        response.status(401).send(renderDocument(logInPage(next, notice)));
        return;
      }
      await checkSchema();
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

/** Runs before the body is read. */
function refuseFirst(request: Request, _response: Response, next: NextFunction): void {
  refuseOtherSites(request);
  next();
}

/** A forged header only harms its sender, whose browser then drops the cookie: any proxy is trusted. */
function cookieOptions({ secure, headers }: Request): CookieOptions {
  const isTls = secure || headers['x-forwarded-proto'] === 'https';
  return { httpOnly: true, sameSite: 'strict', secure: isTls, path: '/' };
}

/** Always an address in the console: `//host` and `/\host` would lead to another site. */
function pathWithin(next: string): string {
  const base = 'http://console.invalid';
  if (!URL.canParse(next, base)) return '/';
  const { origin, pathname, search } = new URL(next, base);
  const isWithin = origin === base && !pathname.startsWith('//') && pathname !== '/login';
  return isWithin ? `${pathname}${search}` : '/';
}

/** Inline, because nothing else is served before log-in. */
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

/** The hash that allows this style (CSP Level 3, section 2.3.1). */
export const LOG_IN_STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

/** The state of a log-in page. */
interface LogInNotice {
  readonly problem?: string;
  /** The entered name, if only the token was wrong. */
  readonly name?: string;
  /** Whether to redirect to `next` at once, which leads back here without a session. */
  readonly goesOn?: boolean;
}

/** The log-in page; `next` is the address in the console to continue with. */
function logInPage(next: string, { problem, name, goesOn = false }: LogInNotice = {}): VNode {
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
            <small>Recorded in the operator log with each of your actions.</small>
            <label for="token">Admin token</label>
            <input
              id="token"
              name="token"
              type="password"
              autocomplete="current-password"
              required
              autofocus=${name !== undefined}
            />
            <small>The value of the setting ADMIN_TOKEN.</small>
            <button>Log in</button>
          </form>
        </main>
      </body>
    </html>
  `;
}
