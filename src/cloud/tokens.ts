import { z } from 'zod';
import { CloudApiError } from './cloud-api-error.ts';
import type { Clock } from '../clock.ts';
import { loginResponseSchema } from './contract/login.ts';
import type { OutgoingCall } from './exchange.ts';
import { readJson } from './read-json.ts';
import type { CloudLogger, Request } from './request.ts';
import type { Secrets } from '../secrets.ts';

/** What the client proves itself with: an API token, used as it is, or a user's name and password, to log in with. */
export type Credentials = { apiToken: string } | { username: string; password: string };

/** The bearer token of the calls. */
export interface Tokens {
  /** A token that should be accepted now; many callers share one login. */
  current(signal?: AbortSignal): Promise<string>;
  /** Drops a token the cloud refused; true when another can be had by logging in. */
  drop(token: string): boolean;
  /** Revokes the token that was got by login, if any; never an API token. A failure is logged, not thrown. */
  logout(signal?: AbortSignal): Promise<void>;
}

interface TokensOptions {
  credentials: Credentials;
  request: Request<OutgoingCall>;
  clock: Clock;
  secrets: Secrets;
  logger: CloudLogger | undefined;
}

/** The longest time before its end that a login is renewed; a tenth of its life where that is shorter. */
const MAX_RENEWAL_MARGIN_MS = 5 * 60 * 1000;

/** What an HTTP header can carry; anything else would be quoted by the error that fetch throws. */
const headerSafe = z.string().regex(/^[\x21-\x7e]+$/);

const loginAnswerSchema = loginResponseSchema.extend({ access_token: headerSafe });

export function createTokens(options: TokensOptions): Tokens {
  const { credentials, secrets } = options;
  if ('apiToken' in credentials) {
    const { apiToken } = credentials;
    if (!headerSafe.safeParse(apiToken).success) {
      throw new TypeError(
        'The API token holds spaces, line breaks or other signs that no token has: copy it anew',
      );
    }
    secrets.add(apiToken);
    return { current: () => Promise.resolve(apiToken), drop: () => false, logout: () => Promise.resolve() };
  }
  secrets.add(credentials.password);
  return createLogins({ ...options, credentials });
}

interface Login {
  token: string;
  renewAt: number;
}

interface LoginOptions extends TokensOptions {
  credentials: { username: string; password: string };
}

function createLogins({ credentials, request, clock, secrets, logger }: LoginOptions): Tokens {
  let held: Login | undefined;
  let pending: Promise<string> | undefined;

  async function login(): Promise<string> {
    const { username, password } = credentials;
    const sentAt = clock.now();
    const call: OutgoingCall = {
      method: 'POST',
      path: '/login',
      json: { username, password },
      repeatable: true,
    };
    const { access_token: token, expires_in: seconds } = readJson(loginAnswerSchema, await request(call));
    secrets.add(token);
    logger?.debug({ expiresInSeconds: seconds }, 'logged in to the cloud API');
    held = { token, renewAt: sentAt + seconds * 1000 - Math.min(MAX_RENEWAL_MARGIN_MS, seconds * 100) };
    return token;
  }

  return {
    async current(signal) {
      if (held !== undefined && clock.now() < held.renewAt) return held.token;
      pending ??= login().finally(() => {
        pending = undefined;
      });
      return await unlessAborted(pending, signal);
    },
    drop(token) {
      if (held?.token === token) held = undefined;
      return true;
    },
    async logout(signal) {
      await pending?.catch(() => undefined);
      const token = held?.token;
      held = undefined;
      if (token === undefined) return;
      try {
        await request({ method: 'POST', path: '/logout', token, signal });
      } catch (error) {
        const isGoneAlready = error instanceof CloudApiError && error.status === 401;
        if (!isGoneAlready)
          logger?.warn({ err: error }, 'could not log out, the token stays valid until it expires');
      }
    },
  };
}

/** Waits for work that others wait for too: an abort ends this wait, not the work. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => {
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
