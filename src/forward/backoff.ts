import { RetryLaterError } from './sender.ts';

/** Waits between attempts at a destination that fails. */
export interface Backoff {
  /** How long to wait, in milliseconds, after one more failure. */
  afterFailure(error: unknown): number;
  /** After a success, the next failure counts as the first. */
  reset(): void;
  /** Whether so many failed in a row that the destination counts as down: each attempt is a probe with one batch. */
  readonly isOpen: boolean;
}

const BASE_MS = 1_000;
const MAX_MS = 5 * 60_000;

/** A destination that has failed so often in a row counts as down. */
const OPENS_AFTER = 5;

/**
 * Full jitter: a random time up to a bound that doubles from 1 s to 5 min, so that what failed together does not
 * come back together. A destination that says when is obeyed, up to the same 5 min.
 */
export function createBackoff(random: () => number = Math.random): Backoff {
  let failures = 0;
  return {
    afterFailure(error) {
      failures += 1;
      if (error instanceof RetryLaterError) return Math.min(Math.max(error.afterMs, 0), MAX_MS);
      return random() * Math.min(BASE_MS * 2 ** (failures - 1), MAX_MS);
    },
    reset() {
      failures = 0;
    },
    get isOpen() {
      return failures >= OPENS_AFTER;
    },
  };
}
