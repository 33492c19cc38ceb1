import type { Clock } from './clock.ts';

/** Counts the calls of the account in a sliding hour. */
export interface Quota {
  /** Counts one call; what remains, or the seconds after which the next is free again. */
  take(): { remaining: number } | { retryAfter: number };
}

const WINDOW_MS = 60 * 60 * 1000;

/** Allows `limit` calls an hour. */
export function createQuota(limit: number, clock: Clock): Quota {
  const calls: number[] = [];
  return {
    take() {
      const now = clock.now();
      while (calls[0] !== undefined && calls[0] <= now - WINDOW_MS) calls.shift();
      if (calls.length >= limit) {
        return { retryAfter: Math.ceil(((calls[0] ?? now) + WINDOW_MS - now) / 1000) };
      }
      calls.push(now);
      return { remaining: limit - calls.length };
    },
  };
}
