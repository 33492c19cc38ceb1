import type { Request } from 'express';
import type { Logger } from 'pino';
import { HttpError } from '../../errors.ts';

/** Counts wrong tokens by address; gives the seconds to wait once there were too many. */
export type CountFailure = (address: string) => Promise<number | undefined>;

/** Counts the wrong token of a request. Throws HttpError 429 once its address has sent too many. */
export type NoteWrongToken = (request: Request) => Promise<void>;

/**
 * The address is the connection's own, whatever headers say. Only a wrong token is ever answered 429: so it does not
 * matter that all people behind a proxy have its address, and nobody locks another out.
 */
export function createWrongTokens(countFailure: CountFailure, logger: Logger): NoteWrongToken {
  return async ({ socket: { remoteAddress = '' } }) => {
    const retryAfter = await countFailure(remoteAddress);
    if (retryAfter === undefined) {
      logger.warn({ address: remoteAddress }, 'console: a wrong ADMIN_TOKEN');
      return;
    }
    const message = `too many wrong tokens; try again in ${retryAfter} s`;
    throw new HttpError(429, 'TOO_MANY_WRONG_TOKENS', message, { retryAfter });
  };
}
