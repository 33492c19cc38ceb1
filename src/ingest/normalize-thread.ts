/** The thread that reads large bodies: it answers each request with one reply. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { MessageType } from '../events/domain.ts';
import { listsOf } from '../events/message-types.ts';
import { collectGarbage } from '../lib/collect-garbage.ts';
import { HttpError } from '../lib/errors.ts';
import { packBody, packUnreadable, type QueuedDelivery } from '../queue/delivery-batch.ts';
import { normalizeBody, UnreadableError } from './normalize.ts';
import { yieldProcessor } from '../lib/worker-pool.ts';
import { chooseDecoder } from './read-body.ts';
import { scanBody } from './scan/scan-body.ts';

export interface NormalizeRequest {
  readonly sent: Uint8Array;
  readonly encoding: string | undefined;
  readonly messageType: MessageType;
  readonly limit: number;
  /** Keep the body whole for this reason, and don't read it. */
  readonly unreadable: string | undefined;
}

/** A body as records, and what its receipt says. */
export interface NormalizedSent {
  readonly body: Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable' | 'packed'>;
  /** Parts of the body that are no records. */
  readonly quarantined: number;
  /** The events that the records may become. */
  readonly rows: number;
  /** Why the whole body is quarantined. */
  readonly problem?: string;
}

/** The body as records, packed; or that it inflates to more than the limit; or that it can't be packed well enough. */
export type NormalizeReply = NormalizedSent | 'too large' | 'incompressible';

/**
 * The most characters of a packed body, which hold up the event loop for 15 ms in each MiB when its job is written, and
 * when it is read. Records within the limit of a body are accepted unless they are next to random: those of nothing but
 * random digits have 55 % of it, of hexadecimal digits 67 %.
 */
const MAX_PACKED = 4 * 1024 * 1024;
const PACKED_SHARE = 0.8;

yieldProcessor();
parentPort?.on('message', (request: NormalizeRequest) => void answer(request));

async function answer(request: NormalizeRequest): Promise<void> {
  const reply = await normalize(request);
  await sleep(pauseAfter(reply));
  parentPort?.postMessage(reply);
  collectGarbage();
}

/** What a body is larger than usual once it is packed, its sender waits for, so that most of the time is left to others. */
const PACKED_FREELY = 1024 * 1024;
const PACKED_PER_MS = 4 * 1024;
const MAX_PAUSE_MS = 5_000;

function pauseAfter(reply: NormalizeReply): number {
  if (typeof reply === 'string') return 0;
  const paid = Math.max(0, packedLength(reply.body) - PACKED_FREELY);
  return Math.min(MAX_PAUSE_MS, paid / PACKED_PER_MS);
}

async function normalize(request: NormalizeRequest): Promise<NormalizeReply> {
  const { sent, encoding, messageType, limit, unreadable } = request;
  const body = Buffer.from(sent.buffer, sent.byteOffset, sent.length);
  try {
    if (unreadable !== undefined) throw new UnreadableError(unreadable);
    return pack(await chooseDecoder(encoding)(body, limit), listsOf(messageType), limit);
  } catch (error) {
    if (error instanceof HttpError && error.status === 413) return 'too large';
    if (!(error instanceof UnreadableError)) throw error;
    const packed = packUnreadable(body, error.message, encoding);
    if (packedLength(packed) > MAX_PACKED) return 'incompressible';
    return { body: { recordCount: 1, ...packed }, quarantined: 1, rows: 0, problem: error.message };
  }
}

function pack(decoded: Buffer, lists: readonly string[], limit: number): NormalizeReply {
  const shape = scanBody(decoded, lists);
  const { recordCount, ...body } = normalizeBody(decoded, shape);
  const packed = packBody(body);
  if (packedLength(packed) > Math.max(MAX_PACKED, PACKED_SHARE * limit)) return 'incompressible';
  return { body: { recordCount, ...packed }, quarantined: body.unreadable.length, rows: shape.rows };
}

const packedLength = ({ packed }: Pick<QueuedDelivery, 'packed'>) =>
  packed === undefined
    ? 0
    : packed.unreadable.reduce((sum, { content }) => sum + content.length, packed.records.length);
