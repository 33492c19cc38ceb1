import type { Logger } from 'pino';
import { describeError } from '../errors.ts';

/** What was opened, to be closed in reverse order. */
export interface Opened {
  push(what: string, close: () => Promise<unknown>): void;
  /** Closes all of it. What does not close is logged, and the rest closed all the same. */
  closeAll(): Promise<void>;
}

export function createOpened(logger: Logger): Opened {
  const closers: { what: string; close: () => Promise<unknown> }[] = [];
  return {
    push: (what, close) => closers.push({ what, close }),
    async closeAll() {
      for (let last = closers.pop(); last !== undefined; last = closers.pop()) {
        const started = performance.now();
        try {
          await last.close();
          logger.debug({ ms: Math.round(performance.now() - started) }, `closed ${last.what}`);
        } catch (error) {
          logger.error({ err: error }, `${last.what} was not closed: ${describeError(error)}`);
        }
      }
    },
  };
}
