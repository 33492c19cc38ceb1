import { isUtf8 } from 'node:buffer';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';
import { scanBody, type ScannedBody } from './scan/scan-body.ts';

/** A body that can't be read as records at all. It is quarantined as a whole. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** A body as records: one JSON array, whatever the form of the body. */
export type NormalizedBody = Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable'>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a body, one object or an array of objects, as records. The text of the records stays as it was sent. Elements
 * that are not objects, or exceed one of `RECORD_LIMITS`, are set aside. Throws UnreadableError for a body that is not JSON
 * in UTF-8, is neither an object nor an array, is one record beyond a limit, or has too many records or elements set aside.
 */
export function normalizeBody(body: Buffer, shape: ScannedBody = scanBody(body)): NormalizedBody {
  if (!isUtf8(body)) throw new UnreadableError('the body is not UTF-8');
  const { problem, isArray, records: recordCount, setAside } = shape;
  if (problem !== undefined) throw new UnreadableError(problem);
  if (setAside.length > 0) {
    const unreadable = setAside.map(({ start, end, reason }) => ({
      reason,
      content: body.toString('base64', start, end),
    }));
    return { recordCount, records: withoutElements(body, setAside), unreadable };
  }
  const text = utf8.decode(body);
  return { recordCount, records: isArray ? text : `[${text}]`, unreadable: [] };
}

/** A body that can't be read as records, kept as it came, in its Content-Encoding. */
export function unreadableBody(body: Buffer, reason: string, encoding?: string): NormalizedBody {
  const unreadable = { reason, content: body.toString('base64'), encoding: encoding ?? null };
  return { recordCount: 1, records: '[]', unreadable: [unreadable] };
}

const SEPARATORS = new Set(Buffer.from(', \t\r\n'));

/** The array without these elements, the text of the others as it was sent. */
function withoutElements(body: Buffer, elements: ScannedBody['setAside']): string {
  const kept: string[] = [];
  let start = body.indexOf('[') + 1;
  for (const next of [...elements, { start: body.lastIndexOf(']'), end: body.length }]) {
    let end = next.start;
    while (start < end && SEPARATORS.has(body[start] ?? 0)) start += 1;
    while (start < end && SEPARATORS.has(body[end - 1] ?? 0)) end -= 1;
    if (start < end) kept.push(utf8.decode(body.subarray(start, end)));
    start = next.end;
  }
  return `[${kept.join(',')}]`;
}
