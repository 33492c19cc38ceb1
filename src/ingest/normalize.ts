import { isJsonObject, parseExactJson } from '../exact-json.ts';
import type { QueuedDelivery } from '../queue/delivery-batch.ts';

/** A body that can't be read as records at all. It is quarantined as a whole. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** A body as records: one JSON array, whatever the form of the body. */
export type NormalizedBody = Pick<QueuedDelivery, 'recordCount' | 'records' | 'unreadable'>;

/** Postgres and every recursive parser have a limit; no record of the cloud is deeper than a few levels. */
const MAX_DEPTH = 200;

/** No webhook sends this many records, and the rows of millions of empty ones would fill the memory. */
const MAX_RECORDS = 100_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a body, as it came over the wire, as records. A body that can't be read is kept whole with its Content-Encoding,
 * and `unreadable` is the reason. Throws HttpError 413 if it inflates to more than `limit` bytes.
 */
export async function normalizeSent(
  sent: Buffer,
  encoding: string | undefined,
  decode: (body: Buffer, limit: number) => Promise<Buffer>,
  limit: number,
): Promise<{ body: NormalizedBody; unreadable?: UnreadableError }> {
  try {
    return { body: normalizeBody(await decode(sent, limit)) };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { body: unreadableBody(sent, error.message, encoding), unreadable: error };
  }
}

/**
 * Reads a body, one object or an array of objects, as records. The text of the records stays as it was sent. Elements
 * that are not objects are set aside. Throws UnreadableError if the body is not JSON in UTF-8, is neither an object nor
 * an array, is nested too deeply or has too many records.
 */
export function normalizeBody(body: Buffer): NormalizedBody {
  const text = decodeUtf8(body);
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
  if (!Array.isArray(elements)) throw new TypeError('the second parse of an array is not an array');
  const records = elements.filter(isJsonObject);
  const unreadable = elements
    .filter((element) => !isJsonObject(element))
    .map((element) => ({
      reason: 'the record is not a JSON object',
      content: Buffer.from(JSON.stringify(element)).toString('base64'),
    }));
  return { recordCount: elements.length, records: JSON.stringify(records), unreadable };
}
