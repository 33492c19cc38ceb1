import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { OnError } from './engine.ts';

/** A client reports every attempt to reconnect; the same message is logged once in this time. */
const REPEAT_AFTER_MS = 30_000;

/** Logs what a connection reports, without flooding the log while its engine is away. */
export function logOutages(logger: Logger, what: string): OnError {
  const lastLogged = new Map<string, number>();
  return (error) => {
    const now = Date.now();
    if (now - (lastLogged.get(error.message) ?? 0) < REPEAT_AFTER_MS) return;
    lastLogged.set(error.message, now);
    logger.warn(`${what}: ${describeError(error)}`);
  };
}
