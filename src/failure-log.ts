import type { Logger } from 'pino';
import { describeError } from './errors.ts';

/** Logs failures of work that is repeated: one that persists, such as a missing permission, is one warning. */
export interface FailureLog {
  /** Logs `what` and the reason of the error. The same reason as before is logged at the level `debug`. */
  report(key: string, error: unknown, fields: object, what: string): void;
  /** The next failure is new. */
  clear(key: string): void;
}

/** Creates a log of failures. */
export function createFailureLog(logger: Logger): FailureLog {
  const reasons = new Map<string, string>();
  return {
    report(key, error, fields, what) {
      const reason = describeError(error);
      const level = reasons.get(key) === reason ? 'debug' : 'warn';
      reasons.set(key, reason);
      logger[level]({ ...fields, err: error }, `${what}: ${reason}`);
    },
    clear(key) {
      reasons.delete(key);
    },
  };
}
