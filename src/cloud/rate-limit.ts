import type { Clock } from '../clock.ts';

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
    /** Resolves when the next call may be sent. */
    async turn(signal: AbortSignal | undefined): Promise<void> {
      const now = clock.now();
      lastAt = Math.max(now, lastAt + gapMs);
      if (lastAt > now) await clock.sleep(lastAt - now, signal);
    },
    /** Reads the quota from an answer. */
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
