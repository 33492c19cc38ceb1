import { elementTexts, isJsonObject } from '../events/exact-json.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import { exceededLimit, scanBody, type ScannedBody } from './scan-body.ts';

/** A body that can't be read as records at all. It is quarantined as a whole. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** A body as records: one JSON array, whatever the form of the body. */
export type NormalizedBody = Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable'>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a body, one object or an array of objects, as records. The text of the records stays as it was sent. Elements
 * that are not objects are set aside. Throws UnreadableError if the body exceeds one of `BODY_LIMITS`, is not JSON in
 * UTF-8, or is neither an object nor an array.
 */
export function normalizeBody(body: Buffer, shape: ScannedBody = scanBody(body)): NormalizedBody {
  const exceeded = exceededLimit(shape);
  if (exceeded !== undefined) throw new UnreadableError(`the body ${exceeded}`);
  const text = decodeUtf8(body);
  const content = shape.content ?? parseContent(text);
  if (content === 'object') return { recordCount: 1, records: `[${text}]`, unreadable: [] };
  return shape.nonObjects === 0
    ? { recordCount: content, records: text, unreadable: [] }
    : setNonObjectsAside(text);
}

/** A body that can't be read as records, kept as it came, in its Content-Encoding. */
export function unreadableBody(body: Buffer, reason: string, encoding?: string): NormalizedBody {
  const unreadable = { reason, content: body.toString('base64'), encoding: encoding ?? null };
  return { recordCount: 1, records: '[]', unreadable: [unreadable] };
}

function decodeUtf8(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (error) {
    throw new UnreadableError('the body is not UTF-8', { cause: error });
  }
}

/** Whether the text is an object, or how many elements it has as an array. */
function parseContent(text: string): 'object' | number {
  const value = parse(text);
  if (Array.isArray(value)) return value.length;
  if (isJsonObject(value)) return 'object';
  throw new UnreadableError('the body is neither a JSON object nor an array');
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (error) {
    throw new UnreadableError('the body is not JSON', { cause: error });
  }
}

/** Cuts the text between its elements, so that each stays as it was sent. */
function setNonObjectsAside(text: string): NormalizedBody {
  const elements = [...elementTexts(text)];
  const isRecord = (element: string) => /^\s*\{/.test(element);
  const unreadable = elements
    .filter((element) => !isRecord(element))
    .map((element) => ({
      reason: 'the record is not a JSON object',
      content: Buffer.from(element.trim()).toString('base64'),
    }));
  return { recordCount: elements.length, records: `[${elements.filter(isRecord).join(',')}]`, unreadable };
}
