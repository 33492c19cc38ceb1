import type { Logger } from 'pino';
import type { SourceLimits } from '../config/settings-file.ts';
import { HttpError } from '../lib/errors.ts';
import { createFailureLog } from '../lib/failure-log.ts';

/** Holds each source to its limits in this process (`limits:` of the settings file). */
export type SourceRates = ReturnType<typeof createSourceRates>;

/** A source may be this much ahead of its rate. */
const BURST_MS = 1_000;

/** The error code of the answer to a source that is over its limits. It is logged once a minute, not per request. */
export const RATE_LIMITED = 'RATE_LIMITED';

/** `limitsOf` gives the limits of a source at the time; undefined if it has none. `now` is a clock in milliseconds. */
export function createSourceRates(
  limitsOf: (source: string) => Partial<SourceLimits> | undefined,
  logger: Logger,
  now: () => number = () => performance.now(),
) {
  const accounts = new Map<string, { deliveriesUntil: number; bytesUntil: number }>();
  const failures = createFailureLog(logger, now);
  const accountOf = (source: string) => {
    const account = accounts.get(source) ?? { deliveriesUntil: 0, bytesUntil: 0 };
    accounts.set(source, account);
    return account;
  };
  return {
    /** Counts a delivery that is about to be read. Throws HttpError 429 while its source is over one of its limits. */
    admit(source: string): void {
      const limits = limitsOf(source);
      if (limits === undefined) return;
      const { deliveriesPerSecond = Infinity, bytesPerSecond = Infinity } = limits;
      const account = accountOf(source);
      const at = now();
      const ahead = Math.max(
        deliveriesPerSecond === Infinity ? 0 : account.deliveriesUntil - at,
        bytesPerSecond === Infinity ? 0 : account.bytesUntil - at,
      );
      if (ahead > BURST_MS) {
        const error = rateLimited(source, Math.ceil((ahead - BURST_MS) / 1000));
        failures.report(source, error, 'rejecting deliveries', { fields: { source, limits } });
        throw error;
      }
      account.deliveriesUntil = Math.max(account.deliveriesUntil, at) + 1000 / deliveriesPerSecond;
    },
    /** Counts the bytes of a body, as sent. */
    count(source: string, bytes: number): void {
      const limits = limitsOf(source);
      if (limits?.bytesPerSecond === undefined) return;
      const account = accountOf(source);
      account.bytesUntil = Math.max(account.bytesUntil, now()) + (bytes * 1000) / limits.bytesPerSecond;
    },
  };
}

const rateLimited = (source: string, retryAfter: number) =>
  new HttpError(429, RATE_LIMITED, `source "${source}" exceeds its limits; send the delivery again later`, {
    retryAfter,
  });
