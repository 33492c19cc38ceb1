import { normalizeBody, unreadableBody, UnreadableError } from './normalize.ts';
import type { NormalizedBody } from './normalize.ts';
import type { Decoder } from './read-body.ts';

/**
 * Reads a body, as it came over the wire, as records. One that cannot be read is kept whole with its
 * Content-Encoding, and `unreadable` says why. Throws HttpError 413 when it inflates beyond `limit` bytes.
 */
export async function normalizeSent(
  sent: Buffer,
  encoding: string | undefined,
  decode: Decoder,
  limit: number,
): Promise<{ body: NormalizedBody; unreadable?: UnreadableError }> {
  try {
    return { body: normalizeBody(await decode(sent, limit)) };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { body: unreadableBody(sent, error.message, encoding), unreadable: error };
  }
}
