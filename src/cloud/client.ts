import pTimeout from 'p-timeout';
import { createAlertSubscriptions, createSubscriptions } from './subscriptions.ts';
import { authorize, createTokens, type Credentials } from './tokens.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { createHiq } from './hiq.ts';
import { createInventory } from './inventory.ts';
import { createLogs } from './logs.ts';
import { createRequest, type CloudLogger, type Request } from './request.ts';
import type { Db } from '../store/server/database.ts';
import { createSecrets } from '../lib/secrets.ts';
import { observe, type Probe } from './survey.ts';
import { viqInfoSchema, type ViqInfo } from './contract/account.ts';
import {
  permissionCheckResponseSchema,
  tokenInfoSchema,
  type PermissionCheckResponse,
  type TokenInfo,
} from './contract/auth.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import { refusedLoginsOf, type RefusedLogins } from '../store/sources/refused-logins.ts';

export interface CloudClientOptions {
  /** The service address, including any path prefix, without a slash at its end (as the settings give it). */
  baseUrl: string;
  credentials: Credentials;
  /** Whether the address must be one of the public internet. */
  publicOnly?: boolean | undefined;
  timeoutMs?: number;
  logger?: CloudLogger;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
  /** Where refused logins are kept. By default in the memory of this process. */
  refusedLogins?: RefusedLogins | undefined;
}

/**
 * The cloud's API. Every call accepts an abort signal, respects the time-out and the rate limit, and rejects with a
 * `CloudApiError`.
 */
export type CloudClient = ReturnType<typeof createCloudClient>;

const DEFAULT_TIMEOUT_MS = 30_000;

/** Creates a client without sending anything. */
export function createCloudClient({
  credentials,
  logger,
  timeoutMs = DEFAULT_TIMEOUT_MS,
  fetch = globalThis.fetch,
  clock = systemClock,
  publicOnly = false,
  refusedLogins,
  baseUrl,
}: CloudClientOptions) {
  const secrets = createSecrets();
  const anonymous = createRequest({ baseUrl, fetch, publicOnly, clock, timeoutMs, secrets, logger });
  const tokens = createTokens({
    baseUrl,
    credentials,
    request: anonymous,
    clock,
    secrets,
    logger,
    refusedLogins,
  });
  const request = authorize(anonymous, tokens);
  const account = createAccount(request);
  const hiq = createHiq(request, account.viq, clock);
  return {
    /** Logs in now instead of with the first call, so that wrong credentials show immediately. */
    login: async (signal?: AbortSignal): Promise<void> => void (await tokens.current(signal)),
    /** Lets refused credentials be sent again, because a person asks for it. */
    askAgain: () => tokens.askAgain(),
    /** Revokes the token of the login, as the last call of a one-off command. */
    logout: (signal?: AbortSignal) => tokens.logout(signal),
    authorization: createAuthorization(request),
    subscriptions: createSubscriptions(request, secrets),
    alertSubscriptions: createAlertSubscriptions(request, secrets),
    logs: createLogs(request),
    hiq,
    inventory: createInventory(request, hiq),
    account,
    /** Compares one answer of the cloud with the documented forms. */
    observe: (probe: Probe, signal?: AbortSignal) => observe(request, probe, signal),
  };
}

/** A source whose cloud has an API. */
interface Clouded {
  readonly name: string;
  readonly cloud: Pick<CloudClientOptions, 'credentials' | 'publicOnly'> & { readonly apiUrl: string };
}

/** Creates the client of a source, which sends no login that any client of this installation was refused. */
export const clientOf = (
  db: Db | undefined,
  { name, cloud: { apiUrl: baseUrl, ...access } }: Clouded,
  options: Omit<CloudClientOptions, 'baseUrl' | 'credentials'>,
): CloudClient =>
  createCloudClient({ baseUrl, ...access, ...options, refusedLogins: db && refusedLoginsOf(db, name) });

/** The longest time that a shutdown waits for the cloud to end the logins. */
const LOGOUT_TIMEOUT_MS = 2_000;

/** Ends the logins of these clients, if the cloud answers in time. */
export async function logOut(clients: readonly Pick<CloudClient, 'logout'>[]): Promise<void> {
  const signal = AbortSignal.timeout(LOGOUT_TIMEOUT_MS);
  const logouts = Promise.all(clients.map((client) => client.logout(signal)));
  await pTimeout(logouts, { milliseconds: LOGOUT_TIMEOUT_MS, message: false });
}

function createAccount(request: Request<Call>) {
  return {
    viq: async (signal?: AbortSignal): Promise<ViqInfo> =>
      readJson(viqInfoSchema, await request({ method: 'GET', path: '/account/viq', signal })),
  };
}

/** What the client's own token may do (specification, Authentication and authorization). */
function createAuthorization(request: Request<Call>) {
  return {
    /** The user, role and permissions of the client's own token. */
    tokenInfo: async (signal?: AbortSignal): Promise<TokenInfo> =>
      readJson(tokenInfoSchema, await request({ method: 'GET', path: '/auth/apitoken/info', signal })),
    /** The permissions and roles that allow a call. */
    async checkPermission(
      check: { readonly uri: string; readonly method: string },
      signal?: AbortSignal,
    ): Promise<PermissionCheckResponse> {
      const at = '/auth/permissions/:check';
      const answer = await request({ method: 'POST', path: at, json: check, repeatable: true, signal });
      return readJson(permissionCheckResponseSchema, answer);
    },
  };
}
