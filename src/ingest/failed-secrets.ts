import { createHmac, randomBytes } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';

/** One address may send this many wrong secrets in a minute before the answer is 429. */
const FAILURES_PER_MINUTE = 20;

/** All texts share this many counters of about 300 bytes each, because an attacker may have any number of addresses. */
const COUNTERS = 16_384;

/**
 * Allows a number of failures in a time for each text. Few texts share a counter, and outsiders cannot find out which ones
 * do.
 */
export function createFailureCounts(most: number, seconds = 60) {
  const limiter = new RateLimiterMemory({ points: most, duration: seconds });
  const key = randomBytes(16);
  const counterOf = (text: string) =>
    createHmac('sha256', key).update(text).digest().readUInt32BE() % COUNTERS;
  return {
    /** Counts one more. Undefined unless there were too many: then by how many, and for how many seconds they count. */
    async count(text: string): Promise<{ tooMany: number; retryAfter: number } | undefined> {
      const { consumedPoints, msBeforeNext } = await limiter.penalty(counterOf(text));
      if (consumedPoints <= most) return undefined;
      return { tooMany: consumedPoints - most, retryAfter: Math.ceil(msBeforeNext / 1000) };
    },
    /** Takes back one that was counted before its outcome was known. */
    async takeBack(text: string): Promise<void> {
      await limiter.reward(counterOf(text));
    },
  };
}

export type FailedSecrets = ReturnType<typeof createFailedSecrets>;

/**
 * Only the answer to a wrong secret depends on this count, never the answer to a correct one: the cloud sends for all its
 * customers from the same addresses, and an attacker's wrong secret must not cost a delivery. So it is harmless that two
 * addresses may share a counter.
 */
export function createFailedSecrets() {
  const failures = createFailureCounts(FAILURES_PER_MINUTE);
  return { count: async (address: string) => (await failures.count(networkOf(address)))?.retryAfter };
}

/**
 * The network that belongs to one customer of a provider: an IPv4 address, or the /64 of an IPv6 address (RFC 6177: a
 * site is given at least that). Empty if the text is not an address.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}
