import { timingSafeEqual } from 'node:crypto';
import { parseCookie } from 'cookie';
import express from 'express';
import type { CookieOptions, Request, Response, Router } from 'express';
import { z } from 'zod';
import type { OpenIdConfig } from '../../config/config.ts';
import { HttpError } from '../../lib/errors.ts';
import { findAccount, useTotpStep, type Account } from '../../store/access/accounts.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction, recordEnded } from '../../store/access/operator-log.ts';
import { endSession, SESSION_HOURS, startAdminSession, startSession } from '../../store/access/sessions.ts';
import { queryOf, textOf } from '../api/parameters.ts';
import { renderDocument } from '../html/html.ts';
import type { SchemaGate } from '../schema-gate.ts';
import { ADMIN_TOKEN_NAME, SESSION_COOKIE, type Access } from './access.ts';
import { createAttempts } from '../../access/attempts.ts';
import { remoteAddressOf } from '../../ingest/remote-address.ts';
import { adminDigestOf, browserProof, digestOf, newSessionValue } from '../../access/credentials.ts';
import { readForm, recordWrongToken, refusalOf, refuseFirst, type Refusals } from './gate.ts';
import { continuePage, logInPage, pathWithin } from './log-in-page.ts';
import { accountOf } from '../../access/openid-person.ts';
import { createOpenIdCookies } from '../../access/openid-cookie.ts';
import { serveInvitations } from './invitations.ts';
import { serveOpenId } from './openid-pages.ts';
import { createOpenId } from '../../access/openid.ts';
import { comesFromElsewhere } from '../../access/origin.ts';
import { isPassword } from '../../access/passwords.ts';
import { verifyTotp } from '../../access/totp.ts';

interface LogInOptions extends Refusals {
  readonly access: Access;
  /** The admin token. */
  readonly token: string | undefined;
  readonly openId: OpenIdConfig | undefined;
  readonly stopping: AbortSignal;
  readonly db: Db;
  /** Throws HttpError 503 while the database is being prepared: a login is recorded there. */
  readonly checkSchema: SchemaGate;
}

/** A form is sent with the admin token, or with name and password. */
const form = z.object({
  token: z.string().optional(),
  name: z.string().trim().max(100).default(''),
  password: z.string().max(1_000).default(''),
  code: z.string().trim().max(10).default(''),
  next: z.string().default('/'),
});

const SESSION_MS = SESSION_HOURS * 3_600_000;

/** Proves that a browser has logged in to an account before; sent to the login page alone. */
const BROWSER_COOKIE = 'xiq_sink_known';
const BROWSER_MS = 180 * 86_400_000;

/** The operator of a login that failed. No account has this name: it contains blanks. */
const NOT_LOGGED_IN = 'not logged in';

/** `/login` and `/logout`. The operator log records each login, also those that failed, and each logout. */
export function serveLogIn(options: LogInOptions): Router {
  const { access, token: adminToken, countFailure, logRefusal, db, checkSchema } = options;
  const router = express.Router({ caseSensitive: true });
  const beginAttempt = createAttempts(options.stopping);

  const openId = options.openId && createOpenId(options.openId);

  const waysToLogIn = async () => ({
    account: (adminToken === undefined && openId === undefined) || (await access.hasAccounts()),
    adminToken: adminToken !== undefined,
    provider: openId?.host,
  });

  router.get('/login', async (request, response) => {
    const next = pathWithin(textOf(queryOf(request), 'next') ?? '/');
    // A link from another site carries no cookie, logged in or not: the redirect from this page does.
    if (comesFromElsewhere(request)) response.send(renderDocument(continuePage(next)));
    else if ((await access.visitorOf(request)) !== undefined) response.redirect(303, next);
    else response.send(renderDocument(logInPage(next, await waysToLogIn())));
  });

  // All others record a login in the database.
  router.use('/login', async (_request, _response, next) => {
    await checkSchema();
    next();
  });

  if (options.openId !== undefined && openId !== undefined) {
    router.use(
      serveOpenId({
        openId,
        cookies: createOpenIdCookies(options.openId),
        beginSession: async (person, request, response) =>
          beginSession(await accountOf(db, person), { provider: openId.host }, request, response),
        showProblem: async (response, status, problem) => {
          response.status(status).send(renderDocument(logInPage('/', await waysToLogIn(), { problem })));
        },
        countFailure,
        logRefusal,
      }),
    );
  }

  router.post('/login', ...readForm, async (request, response) => {
    const ways = await waysToLogIn();
    const { data } = form.safeParse(request.body);
    if (data === undefined || (data.token === undefined && (data.name === '' || data.password === ''))) {
      const problem = 'Enter your name and your password, or the admin token.';
      response.status(400).send(renderDocument(logInPage('/', ways, { problem })));
      return;
    }
    const next = pathWithin(data.next);
    const isAboutToken = data.token !== undefined;
    const isLoggedIn = isAboutToken
      ? await logInWithToken(data.token ?? '', request, response)
      : await logInWithPassword(data, request, response);
    if (isLoggedIn) {
      response.redirect(303, next);
      return;
    }
    const notice = isAboutToken
      ? { problem: 'Wrong admin token.', isAboutToken }
      : { problem: 'Wrong name, password or one-time code.', name: data.name };
    response.status(401).send(renderDocument(logInPage(next, ways, notice)));
  });

  async function logInWithToken(token: string, request: Request, response: Response): Promise<boolean> {
    if (adminToken === undefined || !access.isAdminToken(token)) {
      await recordWrongToken(request, options);
      await recordFailure(request, undefined);
      return false;
    }
    const value = newSessionValue();
    const operator = { name: ADMIN_TOKEN_NAME, via: 'console' } as const;
    await recordAction(db, { operator, action: 'console.login' }, () =>
      startAdminSession(db, adminDigestOf(value, adminToken)),
    );
    setCookies(request, response, value);
    return true;
  }

  async function logInWithPassword(entered: z.output<typeof form>, request: Request, response: Response) {
    const account = await findAccount(db, entered.name);
    const address = remoteAddressOf(request);
    const isKnown = isKnownBrowser(request, account);
    const wasRight = await beginAttempt({ address, name: entered.name, isKnown });
    const isRight = await isPassword(entered.password, account?.password_hash, isKnown);
    // One after the other: a one-time code is used up only with the right password.
    if (
      account === undefined ||
      !isRight ||
      account.disabled_at !== null ||
      !(await isRightCode(account, entered.code))
    ) {
      logRefusal(refusalOf(request, 401), 'console: wrong name or password');
      await recordFailure(request, account);
      return false;
    }
    await wasRight();
    await beginSession(account, {}, request, response);
    return true;
  }

  /** Never with what was entered instead of a name, which may be a password. */
  const recordFailure = (request: Request, account: Account | undefined) => {
    const operator = { name: NOT_LOGGED_IN, via: 'console' } as const;
    const details = { remote: remoteAddressOf(request) };
    const attempt = { operator, action: 'console.login', subject: account?.name, details } as const;
    return recordEnded(db, attempt, 'failed');
  };

  /** Logs in a person who has proven who they are. Throws HttpError 403 if the account has just been changed. */
  async function beginSession(
    account: Account,
    details: Readonly<Record<string, unknown>>,
    request: Request,
    response: Response,
  ): Promise<void> {
    const value = newSessionValue();
    const operator = { name: account.name, via: 'console' } as const;
    await recordAction(db, { operator, action: 'console.login', details }, async () => {
      if (await startSession(db, digestOf(value), account)) return;
      throw new HttpError(403, 'ACCOUNT_CHANGED', 'Your account has just been changed. Log in again.');
    });
    setCookies(request, response, value, account);
  }

  router.use(serveInvitations({ db, logRefusal, beginSession }));

  async function isRightCode({ name, totp_secret: secret, totp_last_step: last }: Account, code: string) {
    if (secret === null) return true;
    const step = verifyTotp(secret, code, last === null ? undefined : Number(last));
    return step !== undefined && useTotpStep(db, name, step);
  }

  router.post('/logout', refuseFirst, async (request, response) => {
    const visitor = await access.visitorOf(request);
    if (visitor?.session !== undefined) {
      const { session, operator } = visitor;
      await recordAction(db, { operator, action: 'console.logout' }, () => endSession(db, session));
    }
    // After the session has ended: a logout that failed must not look like one.
    response.clearCookie(SESSION_COOKIE, cookieOptions(request));
    response.redirect(303, '/login');
  });

  return router;
}

function isKnownBrowser({ headers }: Request, account: Account | undefined): boolean {
  if (account === undefined || account.password_hash === null) return false;
  const offered = Buffer.from(parseCookie(headers.cookie ?? '')[BROWSER_COOKIE] ?? '');
  const expected = Buffer.from(browserProof(account.name, account.password_hash));
  return offered.length === expected.length && timingSafeEqual(offered, expected);
}

/** The cookie of a session; of an account with a password, also that of a known browser. */
function setCookies(request: Request, response: Response, value: string, account?: Account): void {
  const options = cookieOptions(request);
  response.cookie(SESSION_COOKIE, value, { ...options, maxAge: SESSION_MS });
  if (account === undefined || account.password_hash === null) return;
  const proof = browserProof(account.name, account.password_hash);
  response.cookie(BROWSER_COOKIE, proof, { ...options, path: '/login', maxAge: BROWSER_MS });
}

/** A forged header only harms its sender, whose browser then drops the cookie: any proxy is trusted. */
function cookieOptions({ secure, headers }: Request): CookieOptions {
  const isTls = secure || headers['x-forwarded-proto'] === 'https';
  return { httpOnly: true, sameSite: 'strict', secure: isTls, path: '/' };
}
