import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import pLimit, { type LimitFunction } from 'p-limit';
import pTimeout from 'p-timeout';
import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import { HOUR_MS, type Clock } from '../lib/clock.ts';
import { loginResponseSchema } from './contract/auth.ts';
import type { Call, OutgoingCall } from './exchange.ts';
import { readJson } from './json.ts';
import type { CloudLogger, Request } from './request.ts';
import type { Secrets } from '../lib/secrets.ts';
import type { RefusedLogin, RefusedLogins } from '../store/sources/refused-logins.ts';
import { commandName } from '../lib/text/command-name.ts';

/** The client's credentials: an API token, or a user name and password to log in with. */
export type Credentials = { apiToken: string } | { username: string; password: string };

export type Tokens = ReturnType<typeof createLogins>;

interface TokensOptions {
  baseUrl: string;
  credentials: Credentials;
  request: Request<OutgoingCall>;
  clock: Clock;
  secrets: Secrets;
  logger: CloudLogger | undefined;
  /** Where refused logins are kept. Undefined: in the memory of this process. */
  refusedLogins: RefusedLogins | undefined;
}

/** A login is renewed this long before it expires, or a tenth of its lifetime if that is shorter. */
const MAX_RENEWAL_MARGIN_MS = 5 * 60 * 1000;

/** The token must be valid in an HTTP header. Anything else would be quoted by the error that fetch throws. */
const loginAnswerSchema = loginResponseSchema.extend({ access_token: z.string().regex(/^[\x21-\x7e]+$/) });

export function createTokens(options: TokensOptions): Tokens {
  const { credentials, secrets } = options;
  if ('apiToken' in credentials) {
    const { apiToken } = credentials;
    secrets.add(apiToken);
    return {
      current: () => Promise.resolve(apiToken),
      drop: () => false,
      logout: () => Promise.resolve(),
      askAgain: () => Promise.resolve(),
    };
  }
  secrets.add(credentials.password);
  return createLogins({ ...options, credentials });
}

interface LoginOptions extends TokensOptions {
  credentials: { username: string; password: string };
}

/** The parts of a process log in to an account one after the other: what the first one learns spares it the others. */
const turns = new Map<string, LimitFunction>();

const refusedHere = new Map<string, RefusedLogin>();

const inMemory: RefusedLogins = {
  find: async (fingerprint) => refusedHere.get(fingerprint.toString('hex')),
  save: async (fingerprint, login) => void refusedHere.set(fingerprint.toString('hex'), login),
  forget: async (fingerprint) => void refusedHere.delete(fingerprint.toString('hex')),
};

const derive = promisify<string, string, number, Buffer>(scrypt);

/** A login that was answered so is refused for good (specification, Status codes). */
const FINAL = new Set([400, 401, 403]);

/** How long an answer applies to the same login by any component: permanently, or a minute for a temporary fault. */
function standsUntil(status: number, isHtml: boolean, now: number): Date | null {
  if (!FINAL.has(status)) return new Date(now + 60_000);
  // What answered with a page was perhaps not the cloud.
  return isHtml ? new Date(now + HOUR_MS) : null;
}

function stillRefused({ status, reason, refused_at: at, until }: RefusedLogin): CloudApiError {
  const next = until === null ? 'the credentials change' : until.toISOString();
  const message = `${reason} (at ${at.toISOString()}; not sent again until ${next}, or you run "${commandName()} subscribe plan")`;
  // Of the refusals that are final, only that of a page ends by itself.
  const isHtml = FINAL.has(status) && until !== null;
  return new CloudApiError(message, { method: 'POST', path: '/login', status, isHtml });
}

function createLogins(options: LoginOptions) {
  const { baseUrl, credentials, request, clock, secrets, logger, refusedLogins = inMemory } = options;
  const { username, password } = credentials;
  const account = JSON.stringify([baseUrl, username]);
  const inTurn = turns.get(account) ?? pLimit(1);
  turns.set(account, inTurn);
  let held: { token: string; renewAt: number } | undefined;
  let pending: Promise<string> | undefined;
  let derived: Promise<Buffer> | undefined;
  // It is kept in the database, so a password must be as hard to guess from it as from the digest of an account.
  const fingerprintOnce = () => (derived ??= derive(password, `xiq-sink: refused login of ${account}`, 32));

  const forget = async (fingerprint: Buffer) => {
    await inMemory.forget(fingerprint);
    await refusedLogins.forget(fingerprint);
  };

  const record = (fingerprint: Buffer, refusal: RefusedLogin) =>
    refusedLogins.save(fingerprint, refusal).catch(async (failure: unknown) => {
      const what = 'a refused login could not be recorded: other processes may repeat it';
      logger?.warn({ err: failure }, what);
      await inMemory.save(fingerprint, refusal);
    });

  async function login(): Promise<string> {
    const fingerprint = await fingerprintOnce();
    const refused = (await refusedLogins.find(fingerprint)) ?? (await inMemory.find(fingerprint));
    const sentAt = clock.now();
    if (refused !== undefined && sentAt < (refused.until?.getTime() ?? Infinity)) {
      // Another source may have got the answer, or the database could not keep it.
      await record(fingerprint, refused);
      throw stillRefused(refused);
    }
    const call: OutgoingCall = {
      method: 'POST',
      path: '/login',
      json: { username, password },
      repeatable: true,
    };
    const answer = await request(call).catch(async (error: unknown) => {
      if (!(error instanceof CloudApiError) || error.status === undefined) throw error;
      const { status, message: reason, isHtml } = error;
      const until = standsUntil(status, isHtml, clock.now());
      await record(fingerprint, { status, reason, refused_at: new Date(sentAt), until });
      throw error;
    });
    await forget(fingerprint);
    const { access_token: token, expires_in: seconds } = readJson(loginAnswerSchema, answer);
    secrets.add(token);
    logger?.debug({ expiresInSeconds: seconds }, 'logged in to the cloud API');
    held = { token, renewAt: sentAt + seconds * 1000 - Math.min(MAX_RENEWAL_MARGIN_MS, seconds * 100) };
    return token;
  }

  return {
    /**
     * Returns a token that is valid now; concurrent callers share one login. What the cloud has refused for good is not sent
     * again: repeated logins would lock the account.
     */
    async current(signal?: AbortSignal): Promise<string> {
      if (held !== undefined && clock.now() < held.renewAt) return held.token;
      pending ??= inTurn(login).finally(() => {
        pending = undefined;
      });
      // An abort ends this wait, not the login: other callers wait for it too.
      return await pTimeout(pending, { milliseconds: Infinity, ...(signal && { signal }) });
    },
    /** Discards a token that the cloud refused. True if logging in can replace it. */
    drop(token: string): boolean {
      if (held?.token === token) held = undefined;
      return true;
    },
    /** Lets the credentials be sent again although the cloud has refused them, because a person asks for it. */
    async askAgain(): Promise<void> {
      await forget(await fingerprintOnce());
    },
    /** Revokes the token of the login, if any, but never an API token. A failure is logged, not thrown. */
    async logout(signal?: AbortSignal): Promise<void> {
      await pending?.catch(() => undefined);
      const token = held?.token;
      held = undefined;
      if (token === undefined) return;
      try {
        await request({ method: 'POST', path: '/logout', token, signal });
      } catch (error) {
        const isGoneAlready = error instanceof CloudApiError && error.status === 401;
        if (!isGoneAlready)
          logger?.warn({ err: error }, "can't log out: the token stays valid until it expires");
      }
    },
  };
}

/** Adds a token to every call. A token that is refused (401) is replaced once, if logging in can replace it. */
export function authorize(request: Request<OutgoingCall>, tokens: Tokens): Request<Call> {
  return async (call) => {
    const token = await tokens.current(call.signal);
    try {
      return await request({ ...call, token });
    } catch (error) {
      const isRefused = error instanceof CloudApiError && error.status === 401;
      if (!isRefused || !tokens.drop(token)) throw error;
    }
    return await request({ ...call, token: await tokens.current(call.signal) });
  };
}
