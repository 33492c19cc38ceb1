import type { Clock } from '../clock.ts';

/** Below this many calls left, the rest are spread out. */
const LOW_WATER = 50;
/** The longest pause between two calls; beyond it the cloud's own refusal says how long to wait. */
const MAX_GAP_MS = 10_000;

/** How many calls are left and, where the cloud says so, in how many milliseconds the count starts anew. */
interface RateLimit {
  remaining: number;
  resetMs: number | undefined;
}

/**
 * Reads the rate limit of an answer in both known forms: `RateLimit: "default";r=N` (specification) with the
 * optional `;t=S`, and `RateLimit-Remaining` with `RateLimit-Reset` (the service in the wild). Undefined without either.
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

/** Holds calls back as the quota runs out. */
export interface Pacer {
  /** Resolves when the next call may go out. */
  turn(signal: AbortSignal | undefined): Promise<void>;
  /** Takes note of what an answer says about the quota. */
  observe(headers: Headers): void;
}

/** A pacer that lets calls through freely until the remainder is low, then spreads them until the quota renews. */
export function createPacer(clock: Clock): Pacer {
  let gapMs = 0;
  let lastAt = 0;
  return {
    async turn(signal) {
      const now = clock.now();
      lastAt = Math.max(now, lastAt + gapMs);
      if (lastAt > now) await clock.sleep(lastAt - now, signal);
    },
    observe(headers) {
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
