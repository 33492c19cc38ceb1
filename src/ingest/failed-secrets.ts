import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { networkOf } from './remote-address.ts';

/** Wrong secrets one address may send in a minute before it is told to slow down. */
const FAILURES_PER_MINUTE = 20;

/** Addresses share this many counters, of about 300 bytes each: a stranger may have more addresses than we memory. */
const COUNTERS = 16_384;

/** Counts wrong secrets by address. */
export interface FailedSecrets {
  /** Counts one more. Gives the seconds to wait when the address has sent too many, else undefined. */
  count(address: string): Promise<number | undefined>;
}

/**
 * Only the answer to a wrong secret depends on this count, never that to a right one: the cloud sends for all its
 * customers from the same addresses, and a stranger's wrong secret must not cost us a delivery. So it also does no
 * harm that two addresses may share a counter; which ones do, nobody outside can tell.
 */
export function createFailedSecrets(): FailedSecrets {
  const limiter = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: 60 });
  const key = randomBytes(16);
  const counterOf = (address: string) =>
    createHmac('sha256', key).update(networkOf(address)).digest().readUInt32BE() % COUNTERS;
  return {
    async count(address) {
      const { consumedPoints, msBeforeNext } = await limiter.penalty(counterOf(address));
      return consumedPoints > FAILURES_PER_MINUTE ? Math.ceil(msBeforeNext / 1000) : undefined;
    },
  };
}
