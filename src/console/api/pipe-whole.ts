import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/**
 * Sends pieces of text as the whole body of a response, and resolves with its SHA-256. If that fails, the connection is
 * closed, so that no client mistakes the part for the whole. Throws the error that made it fail, or the reason of the signal.
 */
export async function pipeWhole(
  response: Response,
  pieces: AsyncIterable<string>,
  signal: AbortSignal,
  onSent?: (bytes: number) => void,
): Promise<string> {
  const digest = createHash('sha256');
  async function* digested() {
    for await (const piece of pieces) {
      const bytes = Buffer.from(piece);
      digest.update(bytes);
      onSent?.(bytes.length);
      yield bytes;
    }
  }
  // With those of the listener, the pipeline makes 11 that wait for its end; Node.js would warn of a leak.
  response.setMaxListeners(20);
  try {
    await pipeline(Readable.from(digested()), response, { signal });
  } catch (error) {
    // The signal also fires after the response has ended.
    if (!response.writableFinished) {
      response.destroy();
      throw error;
    }
  }
  return digest.digest('hex');
}

/** The name of an exported file: what is in it, and when it was made. */
export const fileName = (what: string, format: string): string =>
  `xiq-sink-${what}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.${format}`;
