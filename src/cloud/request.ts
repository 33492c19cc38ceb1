import type { Logger } from 'pino';
import { adviceFor, CloudApiError, readErrorBody } from './cloud-api-error.ts';
import type { Clock } from '../clock.ts';
import { exchange } from './exchange.ts';
import type { Answer, OutgoingCall } from './exchange.ts';
import { parseJson } from './json.ts';
import { createPacer, readRateLimit } from './rate-limit.ts';
import { retryWait } from './retry.ts';
import { readRetryAfter } from '../retry-after.ts';
import type { Secrets } from '../secrets.ts';

/** Where the client tells what it does; calls, statuses and waits, never bodies or headers. */
export type CloudLogger = Pick<Logger, 'debug' | 'info' | 'warn'>;

interface RequestOptions {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  timeoutMs: number;
  secrets: Secrets;
  logger: CloudLogger | undefined;
}

/**
 * The one way to the cloud: a call under a time-out and its abort signal, paced by the rate limit, repeated as far as
 * its status and kind allow. Resolves with an answer of the 200s; rejects with a `CloudApiError` otherwise.
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
        logger?.info({ err: error, attempt, waitMs }, 'cloud API call failed, repeating it after a wait');
        await clock.sleep(waitMs, call.signal);
      }
    }
  };
}

function refusal(answer: Answer, { clock, secrets }: RequestOptions): CloudApiError {
  const { method, path, status, headers } = answer;
  const { code, id, message } = readErrorBody(jsonOrNothing(answer.text));
  const errorCode = code === undefined ? undefined : secrets.hide(code);
  const errorId = id === undefined ? undefined : secrets.hide(id);
  const retryAfterMs =
    readRetryAfter(headers.get('retry-after'), clock.now()) ??
    (status === 429 ? readRateLimit(headers)?.resetMs : undefined);
  const parts = [
    `${method} ${path} answered ${status}${errorCode === undefined ? '' : ` ${errorCode}`}`,
    message === undefined ? undefined : secrets.hide(message),
    errorId === undefined ? undefined : `error id ${errorId}`,
    retryAfterMs === undefined ? undefined : `asks to wait ${Math.ceil(retryAfterMs / 1000)} s`,
    adviceFor(path, status, errorCode),
  ];
  const text = parts.filter((part) => part !== undefined).join('; ');
  return new CloudApiError(text, { method, path, status, errorCode, errorId, retryAfterMs });
}

function jsonOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
