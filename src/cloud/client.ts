import { createAccount } from './account.ts';
import type { Account } from './account.ts';
import { createAuthorization } from './authorization.ts';
import type { Authorization } from './authorization.ts';
import { authorize } from './authorize.ts';
import { parseBaseUrl } from './base-url.ts';
import { systemClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { createDevices } from './devices.ts';
import type { Devices } from './devices.ts';
import { createLogs } from './logs.ts';
import type { Logs } from './logs.ts';
import { createOperations } from './operations.ts';
import type { Operations } from './operations.ts';
import { createRequest } from './request.ts';
import type { CloudLogger } from './request.ts';
import { createSecrets } from '../secrets.ts';
import { createSubscriptions } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';
import { createTokens } from './tokens.ts';
import type { Credentials } from './tokens.ts';

/** What a client of the cloud's API is made from. */
export interface CloudClientOptions {
  /** The service address, with a path prefix where it is served under one. */
  baseUrl: string;
  credentials: Credentials;
  /** The longest an answer may take, in milliseconds. */
  timeoutMs?: number;
  logger?: CloudLogger;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
}

/**
 * The cloud's API. Every call takes an abort signal, is held to the time-out and the rate limit, and rejects with a
 * `CloudApiError`.
 */
export interface CloudClient {
  /** Gets a token now rather than with the first call, so that bad credentials show at once. */
  login(signal?: AbortSignal): Promise<void>;
  /** Revokes the token that a login got; the last thing a one-off command does. */
  logout(signal?: AbortSignal): Promise<void>;
  authorization: Authorization;
  operations: Operations;
  subscriptions: Subscriptions;
  logs: Logs;
  devices: Devices;
  account: Account;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Makes a client; nothing is sent yet. Throws a `TypeError` on an address or token that cannot be used. */
export function createCloudClient({
  credentials,
  logger,
  timeoutMs = DEFAULT_TIMEOUT_MS,
  fetch = globalThis.fetch,
  clock = systemClock,
  ...options
}: CloudClientOptions): CloudClient {
  const baseUrl = parseBaseUrl(options.baseUrl);
  const secrets = createSecrets();
  const anonymous = createRequest({ baseUrl, fetch, clock, timeoutMs, secrets, logger });
  const tokens = createTokens({ credentials, request: anonymous, clock, secrets, logger });
  const request = authorize(anonymous, tokens);
  return {
    login: async (signal) => {
      await tokens.current(signal);
    },
    logout: (signal) => tokens.logout(signal),
    authorization: createAuthorization({ request, anonymous, secrets }),
    operations: createOperations(request, clock, secrets),
    subscriptions: createSubscriptions(request, secrets),
    logs: createLogs(request),
    devices: createDevices(request, baseUrl, clock),
    account: createAccount(request),
  };
}
