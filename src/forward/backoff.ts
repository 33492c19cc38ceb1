import { RetryLaterError } from './sender.ts';

const BASE_MS = 1_000;
const MAX_MS = 5 * 60_000;

/** A destination counts as down after this many failures in a row. */
const OPENS_AFTER = 5;

/**
 * The waits between attempts at a failing destination. Full jitter: waits a random time up to a bound that doubles from 1 s to 5 min, so that attempts that failed together
 * are not repeated together. A wait that the destination asks for is respected, up to the same 5 min.
 */
export function createBackoff(random: () => number = Math.random) {
  let failures = 0;
  return {
    /** How long to wait after one more failure, in milliseconds. */
    afterFailure(error: unknown): number {
      failures += 1;
      if (error instanceof RetryLaterError) return Math.min(Math.max(error.afterMs, 0), MAX_MS);
      return random() * Math.min(BASE_MS * 2 ** (failures - 1), MAX_MS);
    },
    /** After a success: the next failure counts as the first. */
    reset(): void {
      failures = 0;
    },
    /** Whether so many attempts in a row failed that the destination counts as down. Each attempt is then a probe. */
    get isOpen() {
      return failures >= OPENS_AFTER;
    },
  };
}
