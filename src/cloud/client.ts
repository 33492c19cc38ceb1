import { createAlertSubscriptions, createSubscriptions } from './subscriptions.ts';
import { createAccount, createAuthorization } from './account.ts';
import { authorize, createTokens, type Credentials } from './tokens.ts';
import { parseBaseUrl } from './addresses.ts';
import { systemClock, type Clock } from '../clock.ts';
import { createInventory } from './inventory.ts';
import { createLogs } from './logs.ts';
import { createRequest, type CloudLogger } from './request.ts';
import { createSecrets } from '../secrets.ts';
import { observe, type Probe } from './survey.ts';

/** The options of a client of the cloud's API. */
export interface CloudClientOptions {
  /** The service address, including any path prefix. */
  baseUrl: string;
  credentials: Credentials;
  /** The longest time for an answer, in milliseconds. */
  timeoutMs?: number;
  logger?: CloudLogger;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
}

/**
 * The cloud's API. Every call accepts an abort signal, respects the time-out and the rate limit, and rejects with a
 * `CloudApiError`.
 */
export type CloudClient = ReturnType<typeof createCloudClient>;

const DEFAULT_TIMEOUT_MS = 30_000;

/** Creates a client without sending anything. Throws a `TypeError` if the address or the token is invalid. */
export function createCloudClient({
  credentials,
  logger,
  timeoutMs = DEFAULT_TIMEOUT_MS,
  fetch = globalThis.fetch,
  clock = systemClock,
  ...options
}: CloudClientOptions) {
  const baseUrl = parseBaseUrl(options.baseUrl);
  const secrets = createSecrets();
  const anonymous = createRequest({ baseUrl, fetch, clock, timeoutMs, secrets, logger });
  const tokens = createTokens({ credentials, request: anonymous, clock, secrets, logger });
  const request = authorize(anonymous, tokens);
  return {
    /** Logs in now instead of with the first call, so that wrong credentials show immediately. */
    login: async (signal?: AbortSignal): Promise<void> => void (await tokens.current(signal)),
    /** Revokes the token of the login, as the last call of a one-off command. */
    logout: (signal?: AbortSignal) => tokens.logout(signal),
    authorization: createAuthorization(request),
    subscriptions: createSubscriptions(request, secrets),
    alertSubscriptions: createAlertSubscriptions(request, secrets),
    logs: createLogs(request),
    inventory: createInventory(request),
    account: createAccount(request),
    /** Compares one answer of the cloud with the documented forms. */
    observe: (probe: Probe, signal?: AbortSignal) => observe(request, probe, signal),
  };
}
