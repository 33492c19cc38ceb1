import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpError, OutageError, toError } from '../lib/errors.ts';
import type { MessageType } from '../events/domain.ts';
import { listsOf } from '../events/message-types.ts';
import { createWorkerPool, PoolFullError, WorkerError } from '../lib/worker-pool.ts';
import { overloaded, type MemoryReservation } from './admission.ts';
import { normalizeBody, unreadableBody, UnreadableError } from './normalize.ts';
import type { NormalizedSent, NormalizeReply, NormalizeRequest } from './normalize-thread.ts';
import { chooseDecoder, tooLarge } from './read-body.ts';
import { scanBody } from './scan/scan-body.ts';

/** After so long everything else that the event loop has to do gets its turn: requests are read, answers are sent. */
const TIME_SLICE_MS = 5;

/** Runs the work of sources by turns on the event loop, so that none waits for all that another has sent. */
export class Turns {
  readonly #now: () => number;
  readonly #defer: (next: () => void) => unknown;
  /** By source. The one at the front has the next turn. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #usedMs = 0;
  #isDeferred = false;

  /** `now` is a clock in milliseconds, `defer` runs a function in the next turn of the event loop. */
  constructor(
    now: () => number = () => performance.now(),
    defer: (next: () => void) => unknown = setImmediate,
  ) {
    this.#now = now;
    this.#defer = defer;
  }

  /** Runs the work now, if the event loop was not held for long and nothing waits; else when it is the source's turn. */
  run<T>(source: string, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(toError(error));
        }
      };
      if (this.#waiting.size === 0 && this.#usedMs <= TIME_SLICE_MS) return this.#runMeasured(settle);
      const works = this.#waiting.get(source) ?? [];
      works.push(settle);
      this.#waiting.set(source, works);
    });
  }

  #runMeasured(work: () => void): void {
    const began = this.#now();
    work();
    this.#usedMs += this.#now() - began;
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#defer(() => this.#runWaiting());
  }

  #runWaiting(): void {
    this.#isDeferred = false;
    this.#usedMs = 0;
    for (const [source, works] of this.#waiting) {
      if (this.#usedMs > TIME_SLICE_MS) return;
      this.#waiting.delete(source);
      const next = works.shift();
      // It goes to the end, where this loop arrives again.
      if (works.length > 0) this.#waiting.set(source, works);
      if (next !== undefined) this.#runMeasured(next);
    }
  }
}

export interface SentBody {
  readonly sent: Buffer;
  readonly encoding: string | undefined;
  readonly messageType: MessageType;
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
 * The threads that read bodies that are not small. One of 10 MiB takes half a second, and a pause of up to 5 s if it hardly
 * compresses: 15 s are for a machine that has no time. Waiting bodies wait as they were sent. The memory is for the largest
 * body, decoded, as text of two bytes for each character, and packed; little more, so that it is collected early.
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
const turns = new Turns();

/** By the limit of a body, of which a process has one. */
const readers = new Map<number, ReturnType<typeof startReaders>>();

/**
 * Reads a body, as it came over the wire, as records, without holding up the event loop. A body that can't be read is
 * kept whole with its Content-Encoding, and `problem` is the reason. Charges the memory that it needs to `reservation`.
 * Throws HttpError: 413 if the body inflates to more than `limit` bytes, 503 if too many large ones are waiting.
 */
export async function normalizeSent(
  body: SentBody,
  limit: number,
  reservation?: MemoryReservation,
): Promise<NormalizedSent> {
  const { sent, encoding } = body;
  try {
    return (await normalizeSmall(body, limit, reservation)) ?? (await normalizeInThread(body, limit));
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const { message: problem } = error;
    return { body: unreadableBody(sent, problem, encoding), quarantined: 1, rows: 0, problem };
  }
}

/** Resolves with undefined for a body that is too large to be read here. */
async function normalizeSmall(
  { sent, encoding, messageType, source }: SentBody,
  limit: number,
  reservation: MemoryReservation | undefined,
): Promise<NormalizedSent | undefined> {
  if (sent.length > SMALL_BYTES) return undefined;
  const decoded = await decodeSmall(sent, encoding, limit);
  if (decoded === undefined) return undefined;
  if (decoded !== sent) reservation?.charge(decoded.length);
  return turns.run(source, () => {
    const shape = scanBody(decoded, listsOf(messageType));
    const { structural } = shape.total;
    if (structural > SMALL_STRUCTURE && shape.problem === undefined) return undefined;
    reservation?.charge(Math.min(structural, SMALL_STRUCTURE) * BYTES_PER_STRUCTURE);
    const body = normalizeBody(decoded, shape);
    return { body, quarantined: body.unreadable.length, rows: shape.rows };
  });
}

async function decodeSmall(sent: Buffer, encoding: string | undefined, limit: number) {
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

/** A copy takes 3 ms for 10 MiB, but 40 where each page of memory comes from a host, so other work has its turn between. */
const COPIED_A_TURN = 2 * 1024 * 1024;

/** A copy for a thread: the body is still needed if the thread ends. */
async function copyInTurns(body: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(body.length);
  for (let at = 0; at < body.length; at += COPIED_A_TURN) {
    await nextTurn();
    copy.set(body.subarray(at, at + COPIED_A_TURN), at);
  }
  return copy;
}

async function askThread(
  { sent, encoding, messageType, source }: SentBody,
  limit: number,
  unreadable?: string,
): Promise<NormalizedSent> {
  const copy = await copyInTurns(sent);
  const pool = readers.get(limit) ?? startReaders(limit);
  readers.set(limit, pool);
  const reply = await pool
    .run(source, { sent: copy, encoding, messageType, limit, unreadable }, [copy.buffer])
    .catch((error: unknown) => {
      throw error instanceof PoolFullError || error instanceof OutageError ? overloaded() : error;
    });
  if (reply === 'too large') throw tooLarge(limit);
  if (reply === 'incompressible') {
    const message = 'the body hardly compresses and is too large for the queue; send it in parts';
    throw new HttpError(413, 'BODY_TOO_LARGE', message);
  }
  return reply;
}
