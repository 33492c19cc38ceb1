import { createHash } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import pTimeout from 'p-timeout';
import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import type { Clock } from '../lib/clock.ts';
import { loginResponseSchema } from './contract/auth.ts';
import type { Call, OutgoingCall } from './exchange.ts';
import { readJson } from './json.ts';
import type { CloudLogger, Request } from './request.ts';
import type { Secrets } from '../lib/secrets.ts';

/** The client's credentials: an API token, or a user name and password to log in with. */
export type Credentials = { apiToken: string } | { username: string; password: string };

/** Provides the bearer token for calls. */
export type Tokens = ReturnType<typeof createLogins>;

interface TokensOptions {
  baseUrl: string;
  credentials: Credentials;
  request: Request<OutgoingCall>;
  clock: Clock;
  secrets: Secrets;
  logger: CloudLogger | undefined;
}

/** A login is renewed this long before it expires, or a tenth of its lifetime if that is shorter. */
const MAX_RENEWAL_MARGIN_MS = 5 * 60 * 1000;

/** Text that is valid in an HTTP header. Anything else would be quoted by the error that fetch throws. */
const headerSafe = z.string().regex(/^[\x21-\x7e]+$/);

const loginAnswerSchema = loginResponseSchema.extend({ access_token: headerSafe });

export function createTokens(options: TokensOptions): Tokens {
  const { credentials, secrets } = options;
  if ('apiToken' in credentials) {
    const { apiToken } = credentials;
    if (!headerSafe.safeParse(apiToken).success) {
      throw new TypeError(
        'The API token contains spaces, line breaks or other invalid characters: copy it again',
      );
    }
    secrets.add(apiToken);
    return {
      current: () => Promise.resolve(apiToken),
      drop: () => false,
      logout: () => Promise.resolve(),
      askAgain: () => undefined,
    };
  }
  secrets.add(credentials.password);
  return createLogins({ ...options, credentials });
}

interface LoginOptions extends TokensOptions {
  credentials: { username: string; password: string };
}

/** An account that this process logs in to, with a certain password. */
interface Account {
  /** Its parts log in one after the other: what the first one learns spares the account the others. */
  readonly inTurn: LimitFunction;
  /** The answer that stands for that of the cloud. */
  refused?: { readonly error: CloudApiError; readonly until: number } | undefined;
}

const accounts = new Map<string, Account>();

function accountOf(...identity: readonly string[]): Account {
  const key = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  const account = accounts.get(key) ?? { inTurn: pLimit(1) };
  accounts.set(key, account);
  return account;
}

/** What answered with a page was perhaps not the cloud: it is asked again after so long. */
const PAGE_STANDS_MS = 60 * 60 * 1000;

/** A login that was answered so is refused for good (specification, Status codes). */
const FINAL = new Set([400, 401, 403]);

const isFinal = (error: unknown): error is CloudApiError =>
  error instanceof CloudApiError && error.status !== undefined && FINAL.has(error.status);

function createLogins({ baseUrl, credentials, request, clock, secrets, logger }: LoginOptions) {
  const account = accountOf(baseUrl, credentials.username, credentials.password);
  let held: { token: string; renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function login(): Promise<string> {
    const { username, password } = credentials;
    if (account.refused !== undefined && clock.now() < account.refused.until) throw account.refused.error;
    const sentAt = clock.now();
    const call: OutgoingCall = {
      method: 'POST',
      path: '/login',
      json: { username, password },
      repeatable: true,
    };
    const answer = await request(call).catch((error: unknown) => {
      if (isFinal(error))
        account.refused = { error, until: error.isHtml ? sentAt + PAGE_STANDS_MS : Infinity };
      throw error;
    });
    const { access_token: token, expires_in: seconds } = readJson(loginAnswerSchema, answer);
    secrets.add(token);
    logger?.debug({ expiresInSeconds: seconds }, 'logged in to the cloud API');
    held = { token, renewAt: sentAt + seconds * 1000 - Math.min(MAX_RENEWAL_MARGIN_MS, seconds * 100) };
    return token;
  }

  return {
    /**
     * Returns a token that is valid now; concurrent callers share one login. What the cloud has refused for good is not sent
     * again by this process: repeated logins would lock the account.
     */
    async current(signal?: AbortSignal): Promise<string> {
      if (held !== undefined && clock.now() < held.renewAt) return held.token;
      pending ??= account.inTurn(login).finally(() => {
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
    askAgain(): void {
      account.refused = undefined;
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
