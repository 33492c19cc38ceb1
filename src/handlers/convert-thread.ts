/** The thread that converts packed deliveries: it answers each request with one reply. */
import { parentPort } from 'node:worker_threads';
import { collectGarbage } from '../lib/collect-garbage.ts';
import { describeError } from '../lib/errors.ts';
import type { ReadDelivery } from '../queue/delivery-batch.ts';
import { yieldProcessor } from '../lib/worker-pool.ts';
import { convertDelivery, type DeliveryPart } from './delivery-to-events.ts';

/** Begins, continues or abandons the conversion with this id. */
export interface ConvertRequest {
  readonly id: string;
  readonly delivery?: ReadDelivery;
  readonly isAbandoned?: boolean;
}

/** The next parts of a delivery. The content of those set aside fills its buffer. */
export interface ConvertReply {
  readonly parts: readonly DeliveryPart[];
  readonly isDone: boolean;
  readonly problem?: string;
  readonly isLost?: boolean;
}

/** One reply has at most so many parts, or so many characters of payload: the main thread reads it in 10 ms. */
const MAX_PARTS = 250;
const MAX_CHARACTERS = 256 * 1024;

const conversions = new Map<string, Generator<DeliveryPart>>();

yieldProcessor();
parentPort?.on('message', (request: ConvertRequest) => {
  const reply = answer(request);
  // Content is handed over, not copied.
  parentPort?.postMessage(reply, reply.parts.flatMap(ownBuffer));
  if (reply.isDone) collectGarbage();
});

function answer({ id, delivery, isAbandoned = false }: ConvertRequest): ConvertReply {
  if (isAbandoned) {
    conversions.delete(id);
    return { parts: [], isDone: true };
  }
  try {
    const conversion = delivery === undefined ? conversions.get(id) : convertDelivery(delivery);
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
  if ('event' in part) return [];
  const { buffer } = part.setAside.content;
  return buffer instanceof ArrayBuffer ? [buffer] : [];
}

function nextSlice(conversion: Generator<DeliveryPart>): ConvertReply {
  const parts: DeliveryPart[] = [];
  let characters = 0;
  while (parts.length < MAX_PARTS && characters < MAX_CHARACTERS) {
    const next = conversion.next();
    if (next.done === true) return { parts, isDone: true };
    const { value } = next;
    parts.push('event' in value ? value : { setAside: withOwnBuffer(value.setAside) });
    characters += 'event' in value ? value.event.payload.length : value.setAside.content.length;
  }
  return { parts, isDone: false };
}

/** A small Buffer is a part of one that others share, and all of it would be sent. */
function withOwnBuffer(setAside: Extract<DeliveryPart, { setAside: unknown }>['setAside']) {
  const { content } = setAside;
  if (content.length === content.buffer.byteLength) return setAside;
  return { ...setAside, content: Buffer.from(Uint8Array.from(content).buffer) };
}
