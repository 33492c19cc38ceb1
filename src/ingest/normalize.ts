import { isJsonObject, parseExactJson } from '../exact-json.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';

/** A body that cannot be read as records at all; it is kept whole, in quarantine. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** A body as records: one JSON array, whatever form it came in. */
export type NormalizedBody = Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable'>;

/** Postgres and every recursive reader end somewhere; no record of the cloud is deeper than a few levels. */
const MAX_DEPTH = 200;

/** A body of this many records is no webhook's; as rows, some millions of empty ones would fill the memory. */
const MAX_RECORDS = 100_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a body, one object or an array of objects, as records. The text of the records is kept as it was sent.
 * Elements that are not objects are set aside. Throws UnreadableError when the body is not JSON in UTF-8, neither
 * an object nor an array, or out of all proportion.
 */
export function normalizeBody(body: Buffer): NormalizedBody {
  const text = decode(body);
  const value = parse(text);
  if (isTooDeep(value, MAX_DEPTH))
    throw new UnreadableError(`the body is nested deeper than ${MAX_DEPTH} levels`);
  if (!Array.isArray(value)) {
    if (isJsonObject(value)) return { recordCount: 1, records: `[${text}]`, unreadable: [] };
    throw new UnreadableError('the body is neither a JSON object nor an array');
  }
  if (value.length > MAX_RECORDS) throw new UnreadableError(`the body has more than ${MAX_RECORDS} records`);
  return value.every(isJsonObject)
    ? { recordCount: value.length, records: text, unreadable: [] }
    : setNonObjectsAside(text);
}

/** A body that could not be read as records, kept as it came, in its Content-Encoding. */
export function unreadableBody(body: Buffer, reason: string, encoding?: string): NormalizedBody {
  const unreadable = { reason, content: body.toString('base64'), encoding: encoding ?? null };
  return { recordCount: 1, records: '[]', unreadable: [unreadable] };
}

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (error) {
    throw new UnreadableError('the body is not UTF-8', { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (error) {
    throw new UnreadableError('the body is not JSON', { cause: error });
  }
}

function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && isTooDeep(member, levels - 1)) return true;
  }
  return false;
}

function setNonObjectsAside(text: string): NormalizedBody {
  const elements = parseExactJson(text);
  if (!Array.isArray(elements)) throw new TypeError('an array that is read again is an array');
  const records = elements.filter(isJsonObject);
  const unreadable = elements
    .filter((element) => !isJsonObject(element))
    .map((element) => ({
      reason: 'the record is not a JSON object',
      content: Buffer.from(JSON.stringify(element)).toString('base64'),
    }));
  return { recordCount: elements.length, records: JSON.stringify(records), unreadable };
}
