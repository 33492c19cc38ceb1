import type { Logger } from 'pino';
import { describeError } from './errors.ts';

/**
 * The closing of one part, to be deferred to an AsyncDisposableStack. It logs how long it took (debug), and logs an error
 * instead of throwing it, so that one part that cannot be closed does not hide why the service ended.
 */
export function closeLogged(
  logger: Logger,
  part: string,
  close: () => Promise<unknown>,
): () => Promise<void> {
  return async () => {
    const started = performance.now();
    try {
      await close();
      logger.debug({ ms: Math.round(performance.now() - started) }, `closed ${part}`);
    } catch (error) {
      logger.error({ err: error }, `${part} was not closed: ${describeError(error)}`);
    }
  };
}
