import { availableParallelism } from 'node:os';
import { HttpError } from '../errors.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import { createWorkerPool, PoolFullError, WorkerError } from '../worker-pool.ts';
import { overloaded } from './admission.ts';
import { normalizeBody, unreadableBody, UnreadableError } from './normalize.ts';
import type { NormalizeReply, NormalizeRequest } from './normalize-thread.ts';
import { chooseDecoder, tooLarge } from './read-body.ts';
import { exceededLimit, scanBody } from './scan-body.ts';
import { createTurns } from './turns.ts';

/** A body as records, and what the sender is told about it. */
export interface NormalizedSent {
  readonly body: Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable' | 'packed'>;
  /** Parts of the body that are no records. */
  readonly quarantined: number;
  /** Why the whole body is one of them. */
  readonly unreadable?: UnreadableError | undefined;
}

/** A body as it came over the wire. */
export interface SentBody {
  readonly sent: Buffer;
  /** Its Content-Encoding. */
  readonly encoding: string | undefined;
  /** The source takes turns with others for the threads that read large bodies. */
  readonly source: string;
}

/** Larger bodies, as sent or decoded, are read by a thread. */
const SMALL_BYTES = 256 * 1024;

/** So are bodies with more structure: storing these 10,000 characters takes at most 25 ms. */
const SMALL_STRUCTURE = 10_000;

/** Bytes that the parser needs for each structural character, at most. */
const BYTES_PER_STRUCTURE = 64;

/**
 * The threads that read bodies that are not small. One body takes 0.3 s at most, with every limit reached: 15 s are for a
 * machine that has no time. Waiting bodies wait as they were sent. The memory is for the largest body, decoded, as text of
 * two bytes for each character, parsed and packed; little more, so that it is collected early.
 */
const startReaders = (limit: number) =>
  createWorkerPool<NormalizeRequest, NormalizeReply>({
    script: new URL('normalize-thread.ts', import.meta.url),
    threads: availableParallelism() > 2 ? 2 : 1,
    maxWaiting: 64,
    timeLimitMs: 15_000,
    maxHeapMib: 64 + 8 * Math.ceil(limit / (1024 * 1024)),
  });

/** For the bodies that are read here. */
const turns = createTurns();

/** By the limit of a body, of which a process has one. */
const readers = new Map<number, ReturnType<typeof startReaders>>();

/**
 * Reads a body, as it came over the wire, as records, without holding up the event loop. A body that can't be read is
 * kept whole with its Content-Encoding, and `unreadable` is the reason. Reports the memory that it needs to `charge`.
 * Throws HttpError: 413 if the body inflates to more than `limit` bytes, 503 if too many large ones are waiting.
 */
export async function normalizeSent(
  body: SentBody,
  limit: number,
  charge: (bytes: number) => void = () => undefined,
): Promise<NormalizedSent> {
  const { sent, encoding } = body;
  try {
    return (await normalizeSmall(body, limit, charge)) ?? (await normalizeInThread(body, limit));
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { body: unreadableBody(sent, error.message, encoding), quarantined: 1, unreadable: error };
  }
}

/** Resolves with undefined for a body that is too large to be read here. */
async function normalizeSmall(
  { sent, encoding, source }: SentBody,
  limit: number,
  charge: (bytes: number) => void,
): Promise<NormalizedSent | undefined> {
  if (sent.length > SMALL_BYTES) return undefined;
  const decoded = await decodeSmall(sent, encoding, limit);
  if (decoded === undefined) return undefined;
  if (decoded !== sent) charge(decoded.length);
  return turns.run(source, () => {
    const shape = scanBody(decoded);
    if (shape.structural > SMALL_STRUCTURE && exceededLimit(shape) === undefined) return undefined;
    charge(Math.min(shape.structural, SMALL_STRUCTURE) * BYTES_PER_STRUCTURE);
    const body = normalizeBody(decoded, shape);
    return { body, quarantined: body.unreadable.length };
  });
}

async function decodeSmall(
  sent: Buffer,
  encoding: string | undefined,
  limit: number,
): Promise<Buffer | undefined> {
  try {
    return await chooseDecoder(encoding)(sent, Math.min(limit, SMALL_BYTES));
  } catch (error) {
    if (error instanceof HttpError && error.status === 413 && limit > SMALL_BYTES) return undefined;
    throw error;
  }
}

async function normalizeInThread(body: SentBody, limit: number): Promise<NormalizedSent> {
  try {
    return await askThread(body, limit);
  } catch (error) {
    if (!(error instanceof WorkerError)) throw error;
    // Nothing within the limits should get here. The body is kept all the same.
    return await askThread(body, limit, `the body could not be read: ${error.message}`);
  }
}

async function askThread(
  { sent, encoding, source }: SentBody,
  limit: number,
  unreadable?: string,
): Promise<NormalizedSent> {
  // A copy, because a body whose thread ends is still needed.
  const copy = new Uint8Array(sent);
  const pool = readers.get(limit) ?? startReaders(limit);
  readers.set(limit, pool);
  const reply = await pool
    .run(source, { sent: copy, encoding, limit, unreadable }, [copy.buffer])
    .catch((error: unknown) => {
      throw error instanceof PoolFullError ? overloaded() : error;
    });
  if (reply === 'too large') throw tooLarge(limit);
  if (reply === 'incompressible') {
    throw new HttpError(
      413,
      'BODY_TOO_LARGE',
      'the body is larger than 3 MiB after compression; send it in parts',
    );
  }
  const { body, quarantined, problem } = reply;
  return { body, quarantined, unreadable: problem === undefined ? undefined : new UnreadableError(problem) };
}
