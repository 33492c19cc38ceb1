import { HOUR_MS, type Clock } from '../lib/clock.ts';

/** The calls of comparisons that nobody waits for. */
export type CallBudget = ReturnType<typeof createCallBudget>;

/** No call is left for now. */
export class BudgetSpentError extends Error {
  override readonly name = 'BudgetSpentError';
}

/** At most 5% of the 7,500 calls that an account has each hour: these at once, and these more during an hour. */
const AT_ONCE = 75;
const PER_HOUR = 300;

/** Creates a budget of at most 375 calls in any hour. It is checked between calls, so the last check may let one pass. */
export function createCallBudget(clock: Clock, send = globalThis.fetch) {
  let left = AT_ONCE;
  let countedAt = clock.now();
  function leftNow(): number {
    const now = clock.now();
    left = Math.min(AT_ONCE, left + ((now - countedAt) / HOUR_MS) * PER_HOUR);
    countedAt = now;
    return left;
  }

  return {
    /** Counts every request that it sends. */
    fetch: (...given: Parameters<typeof send>): Promise<Response> => {
      left -= 1;
      return send(...given);
    },
    /** Whether calls that a comparison can do without may be made: the first half of those at once. */
    isAmple: () => leftNow() > AT_ONCE / 2,
    /** Throws a BudgetSpentError when no call is left. */
    check(): void {
      if (leftNow() < 1) throw new BudgetSpentError('the call quota for comparisons is used up for now');
    },
  };
}
