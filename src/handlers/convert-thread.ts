/** The thread that converts packed deliveries: it answers each request with one reply. */
import { parentPort } from 'node:worker_threads';
import type { Refusals } from '../erasure/refusals.ts';
import { collectGarbage } from '../lib/collect-garbage.ts';
import { describeError } from '../lib/errors.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import { yieldProcessor } from '../lib/worker-pool.ts';
import { convertDelivery, type DeliveryPart } from './delivery-to-events.ts';

/** Begins, continues or abandons the conversion with this id. */
export interface ConvertRequest {
  readonly id: string;
  readonly delivery?: ReadDelivery;
  readonly refusals?: Refusals | undefined;
  readonly isAbandoned?: boolean;
}

/** The next parts of a delivery. The content of those set aside fills its buffer. */
export interface ConvertReply {
  readonly parts: readonly DeliveryPart[];
  readonly isDone: boolean;
  readonly problem?: string;
  readonly isLost?: boolean;
}

/** One reply has at most this many parts, or this many characters of payload: the main thread reads it in 10 ms. */
const MAX_PARTS = 250;
const MAX_CHARACTERS = 256 * 1024;

/** After so long, another delivery has its turn. */
const MAX_MS = 100;

const conversions = new Map<string, Generator<DeliveryPart>>();

yieldProcessor();
parentPort?.on('message', (request: ConvertRequest) => {
  const reply = answer(request);
  // Content is handed over, not copied.
  parentPort?.postMessage(reply, reply.parts.flatMap(ownBuffer));
  if (reply.isDone) collectGarbage();
});

function answer({ id, delivery, refusals, isAbandoned = false }: ConvertRequest): ConvertReply {
  if (isAbandoned) {
    conversions.delete(id);
    return { parts: [], isDone: true };
  }
  try {
    const conversion = delivery === undefined ? conversions.get(id) : convertDelivery(delivery, refusals);
    if (conversion === undefined) return { parts: [], isDone: true, isLost: true };
    const slice = nextSlice(conversion);
    if (slice.isDone) conversions.delete(id);
    else conversions.set(id, conversion);
    return slice;
  } catch (error) {
    conversions.delete(id);
    return { parts: [], isDone: true, problem: describeError(error) };
  }
}

function ownBuffer(part: DeliveryPart): readonly ArrayBuffer[] {
  if (!('setAside' in part)) return [];
  const { buffer } = part.setAside.content;
  return buffer instanceof ArrayBuffer ? [buffer] : [];
}

function nextSlice(conversion: Generator<DeliveryPart>): ConvertReply {
  const parts: DeliveryPart[] = [];
  const end = performance.now() + MAX_MS;
  let characters = 0;
  while (parts.length < MAX_PARTS && characters < MAX_CHARACTERS && performance.now() < end) {
    const next = conversion.next();
    if (next.done === true) return { parts, isDone: true };
    const { value } = next;
    parts.push('setAside' in value ? { setAside: withOwnBuffer(value.setAside) } : value);
    if ('event' in value) characters += value.event.payload.length;
    if ('setAside' in value) characters += value.setAside.content.length;
  }
  return { parts, isDone: false };
}

/** A small Buffer is a part of one that others share, and all of it would be sent. */
function withOwnBuffer(setAside: Extract<DeliveryPart, { setAside: unknown }>['setAside']) {
  const { content } = setAside;
  if (content.length === content.buffer.byteLength) return setAside;
  return { ...setAside, content: Buffer.from(Uint8Array.from(content).buffer) };
}
