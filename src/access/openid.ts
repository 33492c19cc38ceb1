import pLimit from 'p-limit';
import type { ClientAuth, Configuration } from 'openid-client';
import type { OpenIdConfig } from '../config/config.ts';
import { HttpError } from '../lib/errors.ts';
import { isPrivate } from '../lib/loopback.ts';
import { readAnswer } from '../lib/read-answer.ts';
import { personOf, type Claims, type Person } from './openid-person.ts';
import { HOUR_MS } from '../lib/clock.ts';
import { isHtmlPage } from '../lib/text/html-page.ts';

/** Where the provider sends people back to. */
export const CALLBACK_PATH = '/login/openid/callback';

/** What a login has to remember until the person comes back from the provider. */
export interface PendingLogIn {
  /** Ties the callback to the browser that started (RFC 6749, section 10.12). */
  readonly state: string;
  /** Ties the ID token to this login (OpenID Connect Core, section 15.5.2). */
  readonly nonce: string;
  /** Proves to the provider that the one who redeems the code is the one who started (PKCE, RFC 7636). */
  readonly verifier: string;
}

export type OpenId = ReturnType<typeof createOpenId>;

/** Seconds for a call of the provider, with its answer. */
const TIMEOUT_S = 10;

/** Metadata, keys and tokens are a few kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** A provider that is away is not contacted again within this time, however many people try. */
const RETRY_MS = 10_000;

/** Callbacks whose code is being redeemed, and those that wait for one of them to end. */
const MAX_REDEEMING = 8;
const MAX_WAITING = 64;

/**
 * Logs people in by the authorization code flow with PKCE, state and nonce. `openid-client` checks what comes back: `iss`
 * and `state` of the callback; issuer, audience, times, nonce and signature of the ID token. The provider is first asked
 * when a person logs in, so that this program starts without it.
 */
export function createOpenId(
  config: OpenIdConfig,
  { now = Date.now, timeoutSeconds = TIMEOUT_S }: { now?: () => number; timeoutSeconds?: number } = {},
) {
  const { host } = new URL(config.issuer);
  let discovered: { readonly provider: Promise<Configuration>; until: number } | undefined;

  /** The metadata of the provider, read again each hour. */
  function discover(): Promise<Configuration> {
    if (discovered !== undefined && discovered.until > now()) return discovered.provider;
    const found = { provider: readProvider(config, timeoutSeconds), until: now() + HOUR_MS };
    discovered = found;
    found.provider.catch(() => {
      found.until = now() + RETRY_MS;
    });
    return found.provider;
  }

  const redeeming = pLimit(MAX_REDEEMING);

  async function start() {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge, ...random } = await import('openid-client');
    const provider = await discover().catch((cause: unknown) => {
      throw unreachable(host, cause);
    });
    const pending = {
      state: random.randomState(),
      nonce: random.randomNonce(),
      verifier: random.randomPKCECodeVerifier(),
    };
    const address = buildAuthorizationUrl(provider, {
      redirect_uri: `${config.consoleUrl}${CALLBACK_PATH}`,
      scope: config.scopes,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    if (!isPrivate(address))
      throw unreachable(host, new Error(`${address.origin} is not an https:// address`));
    return { address, pending };
  }

  async function finish(query: URLSearchParams, { state, nonce, verifier }: PendingLogIn): Promise<Person> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
    // The address is the configured one, whatever Host the request names.
    const address = new URL(`${config.consoleUrl}${CALLBACK_PATH}?${query}`);
    try {
      const provider = await discover();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      const tokens = await authorizationCodeGrant(provider, address, { ...checks, idTokenExpected: true });
      const idToken = tokens.claims();
      if (idToken === undefined) throw new Error('the provider sent no ID token');
      return await personOf(config, idToken, async (): Promise<Claims> => {
        if (provider.serverMetadata().userinfo_endpoint === undefined) return {};
        return await fetchUserInfo(provider, tokens.access_token, idToken.sub);
      });
    } catch (error) {
      throw error instanceof HttpError ? error : await refusalOf(host, error);
    }
  }

  return {
    /** The host of the provider, as people know it. */
    host,
    /** Starts a login: the address at the provider to redirect to. Throws HttpError 502 if the provider is away. */
    start,
    /**
     * Ends a login with the query of the callback. Throws HttpError: 400 and 401 if the answer is not that of the provider
     * to this login, 403 if the person has no role here, 502 if the provider is away. The message is for the person, the
     * cause for the log.
     */
    async finish(query: URLSearchParams, pending: PendingLogIn): Promise<Person> {
      if (redeeming.pendingCount >= MAX_WAITING) {
        throw new HttpError(503, 'OPENID_BUSY', 'Too many people are logging in. Try again in a minute.');
      }
      return await redeeming(() => finish(query, pending));
    },
  };
}

async function readProvider(config: OpenIdConfig, timeout: number): Promise<Configuration> {
  const { issuer, clientId, clientSecret } = config;
  const { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, customFetch, discovery, ...client } =
    await import('openid-client');
  /** Basic is the default of the standard and of most providers; both send the same secret. */
  const secretOf = (secret: string): ClientAuth => {
    const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
    return (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
    };
  };
  return await discovery(
    new URL(issuer),
    clientId,
    undefined,
    clientSecret === undefined ? client.None() : secretOf(clientSecret),
    {
      [customFetch]: fetchPrivately,
      timeout,
      execute: [
        // By default, the library does not verify signatures of tokens received over TLS.
        client.enableNonRepudiationChecks,
        ...(new URL(issuer).protocol === 'http:' ? [allowInsecureRequests] : []),
      ],
    },
  );
}

/** Calls the provider: never in the clear off this machine, and with a limit on the answer. */
async function fetchPrivately(url: string, options: RequestInit): Promise<Response> {
  if (!isPrivate(new URL(url))) throw new TypeError(`${url} is not an https:// address`);
  const response = await fetch(url, options);
  const { status, headers } = response;
  const body = await readAnswer(response, MAX_ANSWER_BYTES, url);
  if (response.ok && isHtmlPage(headers.get('content-type'), body.toString())) {
    throw new TypeError(
      `${url} answered with an HTML page instead of JSON: is there a proxy in between, or is OIDC_ISSUER wrong?`,
    );
  }
  return new Response(body.length === 0 ? null : body, { status, headers });
}

const unreachable = (host: string, cause: unknown) =>
  new HttpError(
    502,
    'OPENID_UNREACHABLE',
    `Login with ${host} is not working at the moment. Try again later, or log in another way. The log contains the reason.`,
    { cause },
  );

/** Whether the provider refused the person, its answer is wrong, or it cannot be used at all. */
async function refusalOf(host: string, cause: unknown): Promise<HttpError> {
  const { AuthorizationResponseError, ClientError, ResponseBodyError, WWWAuthenticateChallengeError } =
    await import('openid-client');
  if (cause instanceof AuthorizationResponseError) {
    return new HttpError(403, 'OPENID_REFUSED', `${host} did not log you in.`, { cause });
  }
  if (cause instanceof WWWAuthenticateChallengeError) {
    return unreachable(host, new Error('check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET', { cause }));
  }
  const isInvalid =
    cause instanceof ResponseBodyError
      ? cause.error === 'invalid_grant'
      : cause instanceof ClientError && !UNANSWERED.has(cause.code ?? '');
  if (!isInvalid) return unreachable(host, cause);
  return new HttpError(401, 'OPENID_INVALID', `${host} did not confirm this login. Start again.`, { cause });
}

/** Codes of openid-client for calls that ended without an answer of the protocol. */
const UNANSWERED = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]);

/** Why a login failed, in one line for the log. Parts of it may be texts of the provider, so its length is limited. */
export function reasonOf({ cause }: HttpError): string {
  const parts: string[] = [];
  for (let error = cause; error instanceof Error; error = error.cause) {
    parts.push(error.message);
    // RFC 6749, section 5.2.
    if ('error' in error) parts.push(String(error.error));
    if ('error_description' in error) parts.push(String(error.error_description));
  }
  const reason = parts.filter((part) => part !== '' && part !== 'undefined').join(': ');
  return reason.replaceAll(/\p{C}/gu, ' ').slice(0, 300);
}
