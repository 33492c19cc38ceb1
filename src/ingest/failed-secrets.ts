import { RateLimiterMemory } from 'rate-limiter-flexible';

/** Wrong secrets one address may send in a minute before it is told to slow down. */
const FAILURES_PER_MINUTE = 20;

/** Counts wrong secrets by address. */
export interface FailedSecrets {
  /** Counts one more. Gives the seconds to wait when the address has sent too many, else undefined. */
  count(address: string): Promise<number | undefined>;
}

/**
 * Only the answer to a wrong secret depends on this count, never that to a right one: the cloud sends for all its
 * customers from the same addresses, and a stranger's wrong secret must not cost us a delivery.
 */
export function createFailedSecrets(): FailedSecrets {
  const limiter = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: 60 });
  return {
    async count(address) {
      const { consumedPoints, msBeforeNext } = await limiter.penalty(address);
      return consumedPoints > FAILURES_PER_MINUTE ? Math.ceil(msBeforeNext / 1000) : undefined;
    },
  };
}
