import { randomUUID } from 'node:crypto';
import { parseCookie } from 'cookie';
import express, { type Request, type Response, type Router } from 'express';
import { HttpError } from '../../lib/errors.ts';
import { remoteAddressOf } from '../../ingest/remote-address.ts';
import { queryOf, textOf } from '../api/parameters.ts';
import { renderDocument } from '../html/html.ts';
import { refusalOf, type Refusals } from './gate.ts';
import { continuePage, pathWithin } from './log-in-page.ts';
import { comesFromElsewhere } from '../../access/origin.ts';
import { CALLBACK_PATH, reasonOf, type OpenId } from '../../access/openid.ts';
import type { OpenIdCookies } from '../../access/openid-cookie.ts';
import type { Person } from '../../access/openid-person.ts';

/** The address that starts a login at the provider. */
const START_PATH = '/login/openid';

export interface OpenIdPagesOptions extends Refusals {
  readonly openId: OpenId;
  readonly cookies: OpenIdCookies;
  /** Begins a session of this person and sets its cookie. Throws HttpError 403 if the account is disabled. */
  readonly beginSession: (person: Person, request: Request, response: Response) => Promise<void>;
  readonly showProblem: (response: Response, status: number, problem: string) => Promise<void>;
}

/** Starts logins at the provider, and ends them when the person comes back from there. */
export function serveOpenId(options: OpenIdPagesOptions): Router {
  const { openId, cookies, beginSession } = options;
  const router = express.Router({ caseSensitive: true, strict: true });

  router.get(START_PATH, async (request, response) => {
    const next = pathWithin(textOf(queryOf(request), 'next') ?? '/');
    // Only a person who looks at the login page starts a login, and no other site on their behalf.
    if (comesFromElsewhere(request)) {
      response.redirect(303, `/login?next=${encodeURIComponent(next)}`);
      return;
    }
    try {
      const { address, pending } = await openId.start();
      response.cookie(cookies.name, cookies.seal({ ...pending, next }), cookies.options);
      response.redirect(303, address.href);
    } catch (error) {
      await answerProblem(options, request, response, error);
    }
  });

  router.get(CALLBACK_PATH, async (request, response) => {
    const { maxAge: _, ...kept } = cookies.options;
    response.clearCookie(cookies.name, kept);
    try {
      const query = new URL(request.url, 'http://localhost').searchParams;
      const cookie = parseCookie(request.headers.cookie ?? '')[cookies.name];
      const started = cookies.open(cookie, query.get('state'));
      if (started === undefined) {
        const message =
          'This login is older than 10 minutes, was already used, or began in another browser. Start again.';
        throw new HttpError(400, 'OPENID_EXPIRED', message);
      }
      await beginSession(await openId.finish(query, started), request, response);
      // The browser came from the site of the provider, and would not send the strict session cookie with a redirect. It
      // does with the next request, which this page makes.
      response.send(renderDocument(continuePage(started.next)));
    } catch (error) {
      await answerProblem(options, request, response, error);
    }
  });

  return router;
}

/** Logs the reason of a failed login once, and shows the person what to do. Other errors are thrown on. */
async function answerProblem(
  { showProblem, countFailure, logRefusal }: OpenIdPagesOptions,
  request: Request,
  response: Response,
  error: unknown,
): Promise<void> {
  if (!(error instanceof HttpError)) throw error;
  // Each refused answer cost a call of the provider: an address may cause a few.
  const retryAfter = error.status === 401 ? await countFailure(remoteAddressOf(request)) : undefined;
  if (retryAfter !== undefined) {
    const message = `too many failed logins; try again in ${retryAfter} s`;
    throw new HttpError(429, 'TOO_MANY_FAILED_LOG_INS', message, { retryAfter });
  }
  const reason = reasonOf(error);
  const text = `console: OpenID Connect: ${error.message}${reason === '' ? '' : ` (${reason})`}`;
  logRefusal({ errorId: randomUUID(), ...refusalOf(request, error.status) }, text);
  await showProblem(response, error.status, error.message);
}
