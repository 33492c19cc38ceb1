import type { Logger } from 'pino';
import { adviceFor, CloudApiError, HTML_ADVICE, readErrorBody } from './cloud-api-error.ts';
import type { Clock } from '../lib/clock.ts';
import { exchange, type Answer, type OutgoingCall } from './exchange.ts';
import { jsonOrNothing } from './json.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import type { Secrets } from '../lib/secrets.ts';
import { isHtmlPage } from '../lib/text/html-page.ts';

/** Logs calls, statuses and waits, never bodies or headers. */
export type CloudLogger = Pick<Logger, 'debug' | 'info' | 'warn'>;

const MAX_RETRIES = 4;
const FIRST_BACKOFF_MS = 500;
/** Longer waits are left to the caller: the error contains the wait that the cloud requests. */
const MAX_WAIT_MS = 120_000;
const MAX_JITTER_MS = 1000;

/** Statuses of temporary failures of the server or its gateway. */
const TEMPORARY = new Set([500, 502, 503, 504]);

/** Failures to connect, after which the call can't have been carried out. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

interface RequestOptions {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  publicOnly: boolean;
  clock: Clock;
  timeoutMs: number;
  secrets: Secrets;
  logger: CloudLogger | undefined;
}

/**
 * Sends a call with a time-out and its abort signal, paced by the rate limit, and repeats it if its status and kind
 * allow that. Resolves with an answer of the 200s; rejects with a `CloudApiError` otherwise.
 */
export type Request<C> = (call: C) => Promise<Answer>;

export function createRequest(options: RequestOptions): Request<OutgoingCall> {
  const { clock, logger } = options;
  const pacer = createPacer(clock);

  async function attemptOnce(call: OutgoingCall): Promise<Answer> {
    await pacer.turn(call.signal);
    const startedAt = clock.now();
    const answer = await exchange(call, options);
    pacer.observe(answer.headers);
    const { method, path, status } = answer;
    logger?.debug({ method, path, status, ms: clock.now() - startedAt }, 'cloud API call');
    if (status < 200 || status > 299) throw refusal(answer, options);
    return answer;
  }

  return async (call) => {
    const repeatable = call.repeatable ?? call.method !== 'POST';
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptOnce(call);
      } catch (error) {
        const waitMs = error instanceof CloudApiError ? retryWait(error, repeatable, attempt) : undefined;
        if (waitMs === undefined) throw error;
        logger?.info({ err: error, attempt, waitMs }, 'cloud API call failed, retrying after a wait');
        await clock.sleep(waitMs, call.signal);
      }
    }
  };
}

function refusal(answer: Answer, { clock, secrets }: RequestOptions): CloudApiError {
  const { method, path, status, headers } = answer;
  const { code, id, message } = readErrorBody(jsonOrNothing(answer.text)) ?? {};
  const errorCode = code === undefined ? undefined : secrets.hide(code);
  const errorId = id === undefined ? undefined : secrets.hide(id);
  const retryAfterMs =
    readRetryAfter(headers.get('retry-after'), clock.now()) ??
    (status === 429 ? readRateLimit(headers)?.resetMs : undefined);
  const isHtml = isHtmlPage(headers.get('content-type'), answer.text);
  const parts = [
    `${method} ${path} answered ${status}${errorCode === undefined ? '' : ` ${errorCode}`}`,
    message === undefined ? undefined : secrets.hide(message),
    errorId === undefined ? undefined : `error id ${errorId}`,
    retryAfterMs === undefined ? undefined : `retry after ${Math.ceil(retryAfterMs / 1000)} s`,
    isHtml ? HTML_ADVICE : adviceFor(path, status, errorCode),
  ];
  const text = parts.filter((part) => part !== undefined).join('; ');
  return new CloudApiError(text, { method, path, status, errorCode, errorId, retryAfterMs, isHtml });
}

/**
 * Returns how long to wait before a failed call is repeated, in milliseconds; undefined if it must not be repeated.
 * `attempt` counts from 1; `repeatable` means that the call is safe to repeat. A call refused by the rate limit (429) is
 * always repeated; after server faults and lost answers only a repeatable call is; a wrong request never is.
 */
function retryWait(error: CloudApiError, repeatable: boolean, attempt: number): number | undefined {
  if (attempt > MAX_RETRIES || !mayRepeat(error, repeatable)) return undefined;
  const wait = error.retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  // Jitter only lengthens the wait: the cloud's Retry-After is a minimum.
  return wait > MAX_WAIT_MS ? undefined : wait + Math.random() * Math.min(MAX_JITTER_MS, wait + 1);
}

function mayRepeat(error: CloudApiError, repeatable: boolean): boolean {
  if (error.status === 429) return true;
  if (error.status === undefined) return repeatable || wasNeverSent(error.cause);
  return repeatable && TEMPORARY.has(error.status);
}

/** Whether a failed exchange certainly did not reach the cloud. */
function wasNeverSent(failure: unknown): boolean {
  if (!(failure instanceof Error)) return false;
  const code = 'code' in failure ? failure.code : undefined;
  return (typeof code === 'string' && NEVER_SENT.has(code)) || wasNeverSent(failure.cause);
}

/** When fewer calls than this are left, they are spread out. */
const LOW_WATER = 50;
/** The longest pause between two calls. If that is too short, the cloud refuses a call and says how long to wait. */
const MAX_GAP_MS = 10_000;

/** How many calls are left and, if known, in how many milliseconds the quota renews. */
interface RateLimit {
  remaining: number;
  resetMs: number | undefined;
}

/**
 * Reads the rate limit from an answer in both known forms: `RateLimit: "default";r=N` with the optional `;t=S`
 * (specification), and `RateLimit-Remaining` with `RateLimit-Reset` (the actual service). Undefined without either.
 */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const remaining = headers.get('ratelimit-remaining');
  if (remaining !== null) return rateLimit(remaining, headers.get('ratelimit-reset') ?? undefined);
  const policies = (headers.get('ratelimit') ?? '')
    .split(',')
    .map((policy) => rateLimit(parameter(policy, 'r'), parameter(policy, 't')))
    .filter((policy) => policy !== undefined);
  return policies.toSorted((a, b) => a.remaining - b.remaining)[0];
}

function rateLimit(remaining: string | undefined, resetSeconds: string | undefined): RateLimit | undefined {
  const left = seconds(remaining);
  const reset = seconds(resetSeconds);
  return left === undefined
    ? undefined
    : { remaining: left, resetMs: reset === undefined ? undefined : reset * 1000 };
}

function parameter(policy: string, name: string): string | undefined {
  return new RegExp(`;\\s*${name}=(\\d+)`).exec(policy)?.[1];
}

function seconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Number(text) : undefined;
}

/** Delays calls when the quota runs low: spreads them until it renews. */
export function createPacer(clock: Clock) {
  let gapMs = 0;
  let lastAt = 0;
  return {
    async turn(signal: AbortSignal | undefined): Promise<void> {
      const now = clock.now();
      lastAt = Math.max(now, lastAt + gapMs);
      if (lastAt > now) await clock.sleep(lastAt - now, signal);
    },
    observe(headers: Headers): void {
      const limit = readRateLimit(headers);
      if (limit !== undefined) gapMs = gapFor(limit);
    },
  };
}

function gapFor({ remaining, resetMs }: RateLimit): number {
  if (remaining >= LOW_WATER) return 0;
  const gap = resetMs === undefined ? MAX_GAP_MS * (1 - remaining / LOW_WATER) : resetMs / (remaining + 1);
  return Math.min(gap, MAX_GAP_MS);
}
