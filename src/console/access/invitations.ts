import express, { type Request, type Response, type Router } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import { digestOf, newSessionValue } from '../../access/credentials.ts';
import { hashPassword, hasPasswordLength, PASSWORD_LENGTH } from '../../access/passwords.ts';
import { totpUri, verifyTotp } from '../../access/totp.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { acceptInvitation, findInvited, type Account, type Invitation } from '../../store/access/accounts.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import type { Db } from '../../store/server/database.ts';
import { addressOf } from '../addresses.ts';
import { NOTHING_ENTERED, queryOf, textOf } from '../api/parameters.ts';
import { fieldOf } from '../html/form.ts';
import { html, renderDocument } from '../html/html.ts';
import { readForm, refusalOf, type Refusals } from './gate.ts';
import { CODE, documentOf } from './log-in-page.ts';

const PATH = '/login/invitation';

const HOURS = 24;

/** A new invitation as it is stored, and the address in the console that the person opens. */
export function newInvitation(): { readonly invitation: Invitation; readonly address: string } {
  const key = newSessionValue();
  const until = new Date(Date.now() + HOURS * HOUR_MS);
  return {
    invitation: { invitation: digestOf(key), invited_until: until },
    address: addressOf(PATH, { key }),
  };
}

interface InvitationOptions extends Pick<Refusals, 'logRefusal'> {
  readonly db: Db;
  /** Begins a session of this account, with details for the operator log, and sets its cookie. */
  readonly beginSession: (
    account: Account,
    details: Readonly<Record<string, unknown>>,
    request: Request,
    response: Response,
  ) => Promise<void>;
}

const form = z.object({
  key: z.string().max(100),
  password: z.string().max(PASSWORD_LENGTH.most + 1),
  again: z.string().max(PASSWORD_LENGTH.most + 1),
  code: z.string().trim().max(10).default(''),
});

/** The page on which an invited person sets a password and, if the account needs one, a key for one-time codes. */
export function serveInvitations({ db, logRefusal, beginSession }: InvitationOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });

  function refuse(request: Request, response: Response): void {
    logRefusal(refusalOf(request, 404), 'console: no such invitation');
    response.status(404).send(renderDocument(ENDED));
  }

  router.get(PATH, async (request, response) => {
    const key = textOf(queryOf(request), 'key') ?? '';
    const account = await findInvited(db, digestOf(key));
    if (account === undefined) refuse(request, response);
    else response.send(renderDocument(invitationPage(account, key)));
  });

  router.post(PATH, ...readForm, async (request, response) => {
    const { data } = form.safeParse(request.body);
    const digest = digestOf(data?.key ?? '');
    const account = await findInvited(db, digest);
    if (data === undefined || account === undefined) return refuse(request, response);
    const { totp_secret: secret, name } = account;
    const totpStep = secret === null ? undefined : verifyTotp(secret, data.code, undefined);
    const problem = problemOf(data, secret !== null && totpStep === undefined);
    if (problem !== undefined) {
      response.status(400).send(renderDocument(invitationPage(account, data.key, problem)));
      return undefined;
    }
    const passwordHash = await hashPassword(data.password);
    const operator = { name, via: 'console' } as const;
    const details = { password: 'new', invited: true };
    const accepted = await recordAction(
      db,
      { operator, action: 'access.change', subject: name, details },
      () => acceptInvitation(db, digest, { passwordHash, totpStep }),
      (changed) => ({ accepted: changed !== undefined }),
    );
    if (accepted === undefined) return refuse(request, response);
    await beginSession(accepted, { invited: true }, request, response);
    response.redirect(303, '/');
    return undefined;
  });

  return router;
}

function problemOf({ password, again }: z.output<typeof form>, isWrongCode: boolean): string | undefined {
  if (!hasPasswordLength(password))
    return `A password must have ${PASSWORD_LENGTH.least} to ${PASSWORD_LENGTH.most} characters.`;
  if (password !== again) return 'The two passwords differ.';
  return isWrongCode ? 'Wrong one-time code. Enter the code that the app shows now.' : undefined;
}

const ENDED = documentOf(
  null,
  html`<p class="note bad" role="alert">
      This invitation was already used or has expired. Ask a console administrator for a new one.
    </p>
    <p><a href="/login">Log in</a></p>`,
);

const invitationPage = ({ name, totp_secret: secret }: Account, key: string, problem?: string): VNode =>
  documentOf(
    null,
    html`
      ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
      <form class="fields" method="post" action=${PATH}>
        <input type="hidden" name="key" value=${key} />
        <p>Welcome, <b>${name}</b>. Choose a password for logging in.</p>
        <input type="hidden" name="username" value=${name} autocomplete="username" />
        ${fieldOf(NOTHING_ENTERED, 'password', 'Password', undefined, NEW_PASSWORD)}
        ${fieldOf(NOTHING_ENTERED, 'again', 'Password again', undefined, NEW_PASSWORD)}
        ${
          secret !== null &&
          html`
            <p>
              Your account requires one-time codes. Add this key to an authenticator app:
              <code>${secret}</code>, or <a href=${totpUri(name, secret)}>open the app</a> if it is on this
              device.
            </p>
            ${fieldOf(NOTHING_ENTERED, 'code', 'One-time code', undefined, { ...CODE, required: '' })}
          `
        }
        <button>Set password</button>
      </form>
    `,
  );

const NEW_PASSWORD = {
  type: 'password',
  autocomplete: 'new-password',
  minlength: String(PASSWORD_LENGTH.least),
  required: '',
};
