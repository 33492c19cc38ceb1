import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import pLimit from 'p-limit';
import rawBody from 'raw-body';
import { HttpError } from '../lib/errors.ts';
import type { MemoryReservation } from './admission.ts';
import { UnreadableError } from './normalize.ts';

/** Decodes a Content-Encoding to at most `limit` bytes. */
export type Decoder = (body: Buffer, limit: number) => Promise<Buffer>;

type Inflate = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** "deflate" means the zlib format (RFC 9110, section 8.4.1.2), but some senders omit its two header bytes. */
const inflateEither: Inflate = (body, options) =>
  isZlib(body) ? promisify(inflate)(body, options) : promisify(inflateRaw)(body, options);

/** RFC 1950, section 2.2: the method in the low half of the first byte is 8, which begins no raw stream (RFC 1951). */
const isZlib = (body: Buffer) => body.length > 0 && body.readUInt8(0) % 16 === 8;

const DECODERS: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', inflateEither],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
]);

/** Node.js inflates on four threads. Bodies that wait for a thread wait compressed, which is small. */
const inflating = pLimit(4);

/**
 * The cost of a piece of a body, as a list element, in addition to its bytes. A sender can send pieces of one byte each:
 * without this cost, a body of a few megabytes could use a gigabyte uncounted.
 */
const PIECE_BYTES = 512;

/**
 * Reads the body as it comes over the wire, and reserves the memory of each piece before it reads the next. Throws the errors
 * of the reservation, and HttpError: 413 beyond `limit` bytes, 400 if the body is cut off.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  reservation: Pick<MemoryReservation, 'add' | 'beginReading' | 'endReading'>,
): Promise<Buffer> {
  const length = request.headers['content-length'] ?? null;
  // Before reading begins, which would request the body of a sender that waits for `100 Continue`.
  if (Number(length) > limit) throw tooLarge(limit);
  const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>();
  const cut = (error: unknown) => {
    request.off('data', count).pause();
    reject(error);
  };
  const count = (piece: Buffer) => {
    try {
      reservation.add(piece.length + PIECE_BYTES);
    } catch (error) {
      cut(error);
    }
  };
  request.on('data', count);
  reservation.beginReading(cut);
  try {
    rawBody(request, { limit, length }).then(resolve, reject);
    return await body;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    if (isTooLarge(error)) throw tooLarge(limit, error);
    throw new HttpError(400, 'BODY_INCOMPLETE', 'the body ended before it was complete', { cause: error });
  } finally {
    reservation.endReading();
    request.off('data', count);
  }
}

/**
 * The decoder for a Content-Encoding header. Throws HttpError 415 for an unknown encoding, before a byte of the body is
 * read. The decoder throws HttpError 413 beyond its limit, and UnreadableError if the bytes don't have the encoding.
 */
export function chooseDecoder(encoding = 'identity'): Decoder {
  const name = encoding.trim().toLowerCase();
  if (name === 'identity' || name === '') return async (body) => body;
  const decode = DECODERS.get(name);
  if (decode === undefined) {
    const known = ['identity', ...DECODERS.keys()].join(', ');
    throw new HttpError(415, 'UNSUPPORTED_ENCODING', `unsupported Content-Encoding: use one of ${known}`);
  }
  return async (body, limit) => {
    try {
      return await inflating(decode, body, { maxOutputLength: limit });
    } catch (error) {
      if (isTooLarge(error)) throw tooLarge(limit, error);
      throw new UnreadableError(`the body is not ${name}, as its Content-Encoding says`, { cause: error });
    }
  };
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    ('type' in error && error.type === 'entity.too.large') ||
    ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
  );
}

/** The answer to a body of more than `limit` bytes. */
export const tooLarge = (limit: number, cause?: unknown) =>
  new HttpError(413, 'BODY_TOO_LARGE', `the body is larger than ${limit} bytes (setting MAX_BODY_BYTES)`, {
    cause,
  });
