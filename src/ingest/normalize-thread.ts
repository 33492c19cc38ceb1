/** The thread that reads large bodies: it answers each request with one reply. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { collectGarbage } from '../lib/collect-garbage.ts';
import { HttpError } from '../lib/errors.ts';
import { packBody, packUnreadable, type QueuedDelivery } from '../queue/delivery-batch.ts';
import { normalizeBody, UnreadableError, type NormalizedBody } from './normalize.ts';
import { yieldProcessor } from '../lib/worker-pool.ts';
import { chooseDecoder } from './read-body.ts';

export interface NormalizeRequest {
  readonly sent: Uint8Array;
  readonly encoding: string | undefined;
  readonly limit: number;
  /** Keep the body whole for this reason, and don't read it. */
  readonly unreadable: string | undefined;
}

/** The body as records, packed; or that it inflates to more than the limit; or that it can't be packed well enough. */
export type NormalizeReply =
  | {
      readonly body: Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable' | 'packed'>;
      readonly quarantined: number;
      /** Why the whole body is quarantined. */
      readonly problem?: string;
    }
  | 'too large'
  | 'incompressible';

/**
 * The largest packed body, in characters. JSON of 10 MiB has a third of that; more of it would hold up the event loop each
 * time that its job is written or read, for 10 ms in 4 MiB.
 */
const MAX_PACKED = 4 * 1024 * 1024;

yieldProcessor();
parentPort?.on('message', (request: NormalizeRequest) => void answer(request));

async function answer(request: NormalizeRequest): Promise<void> {
  const reply = await normalize(request);
  await sleep(pauseAfter(reply));
  parentPort?.postMessage(reply);
  collectGarbage();
}

/**
 * A packed body holds up the event loop for 10 ms in each MiB when its job is written, and again when it is read. What a
 * body is larger than one of 10 MiB of JSON, its sender waits for, so that such bodies leave most of the time to others.
 */
const PACKED_FREELY = 1024 * 1024;
const PACKED_PER_MS = 4 * 1024;

function pauseAfter(reply: NormalizeReply): number {
  if (typeof reply === 'string') return 0;
  return Math.max(0, packedLength(reply.body) - PACKED_FREELY) / PACKED_PER_MS;
}

async function normalize({ sent, encoding, limit, unreadable }: NormalizeRequest): Promise<NormalizeReply> {
  const body = Buffer.from(sent.buffer, sent.byteOffset, sent.length);
  try {
    if (unreadable !== undefined) throw new UnreadableError(unreadable);
    return pack(normalizeBody(await chooseDecoder(encoding)(body, limit)));
  } catch (error) {
    if (error instanceof HttpError && error.status === 413) return 'too large';
    if (!(error instanceof UnreadableError)) throw error;
    const packed = packUnreadable(body, error.message, encoding);
    if (isTooLarge(packed)) return 'incompressible';
    return { body: { recordCount: 1, ...packed }, quarantined: 1, problem: error.message };
  }
}

function pack({ recordCount, ...body }: NormalizedBody): NormalizeReply {
  const packed = packBody(body);
  if (isTooLarge(packed)) return 'incompressible';
  return { body: { recordCount, ...packed }, quarantined: body.unreadable.length };
}

const isTooLarge = (body: ReturnType<typeof packBody>) => packedLength(body) > MAX_PACKED;

const packedLength = ({ packed }: Pick<QueuedDelivery, 'packed'>) =>
  packed === undefined
    ? 0
    : packed.unreadable.reduce((sum, { content }) => sum + content.length, packed.records.length);
