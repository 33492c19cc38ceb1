import type { CloudApiError } from './cloud-api-error.ts';

const MAX_RETRIES = 4;
const FIRST_BACKOFF_MS = 500;
/** A longer wait than this is left to the caller: the error says how long the cloud asks for. */
const MAX_WAIT_MS = 120_000;
const MAX_JITTER_MS = 1000;

/** The statuses that may pass by themselves: server fault and unavailability, the gateway's wording included. */
const PASSING = new Set([500, 502, 503, 504]);

/** Failures of a connection that was never made, so that the call cannot have been carried out. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/**
 * How long to wait before a failed call is repeated, in milliseconds; undefined when it must not be. `attempt` counts
 * from 1, `repeatable` says that doing the call twice does no harm. A refusal for the rate limit (429) is always
 * waited out; server faults and lost answers only where repeating is harmless; a wrong request never.
 */
export function retryWait(error: CloudApiError, repeatable: boolean, attempt: number): number | undefined {
  if (attempt > MAX_RETRIES || !mayRepeat(error, repeatable)) return undefined;
  const wait = error.retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  // Jitter only ever lengthens the wait: the cloud's Retry-After is a minimum.
  return wait > MAX_WAIT_MS ? undefined : wait + Math.random() * Math.min(MAX_JITTER_MS, wait + 1);
}

function mayRepeat(error: CloudApiError, repeatable: boolean): boolean {
  if (error.status === 429) return true;
  if (error.status === undefined) return repeatable || wasNeverSent(error.cause);
  return repeatable && PASSING.has(error.status);
}

/** Whether a failed exchange certainly never reached the cloud. */
function wasNeverSent(failure: unknown): boolean {
  if (!(failure instanceof Error)) return false;
  const code = 'code' in failure ? failure.code : undefined;
  return (typeof code === 'string' && NEVER_SENT.has(code)) || wasNeverSent(failure.cause);
}
