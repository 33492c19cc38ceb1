import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** The SHA-256 of what a stream sends, in hexadecimal. */
export async function sha256OfStream(stream: Readable, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(stream, hash, { signal });
  return hash.digest('hex');
}

/** The SHA-256 of a file, in hexadecimal. */
export const sha256Of = (file: string) => sha256OfStream(createReadStream(file));
