import type { Logger } from 'pino';
import { describeError } from './errors.ts';

export function createFailureLog(logger: Logger) {
  const reasons = new Map<string, string>();
  return {
    /** Logs `what` and the reason of the error. The same reason as before is logged at the level `debug`. */
    report(key: string, error: unknown, fields: object, what: string): void {
      const reason = describeError(error);
      const level = reasons.get(key) === reason ? 'debug' : 'warn';
      reasons.set(key, reason);
      logger[level]({ ...fields, err: error }, `${what}: ${reason}`);
    },
    clear(key: string): void {
      reasons.delete(key);
    },
  };
}
