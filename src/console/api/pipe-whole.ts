import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/**
 * Sends pieces as the whole body of a response. If that fails, the connection is closed, so that no client mistakes the part
 * for the whole. Throws the error that made it fail, or the reason of the signal.
 */
export async function pipeWhole(
  response: Response,
  pieces: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  // With those of the listener, the pipeline makes 11 that wait for its end; Node.js would warn of a leak.
  response.setMaxListeners(20);
  try {
    await pipeline(Readable.from(pieces), response, { signal });
  } catch (error) {
    // The signal also fires after the response has ended.
    if (response.writableFinished) return;
    response.destroy();
    throw error;
  }
}
