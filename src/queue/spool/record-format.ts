import { crc32 } from 'node:zlib';

/**
 * A record of a spool segment: a header of 16 bytes (mark, length and CRC-32 of the payload, CRC-32 of these twelve
 * bytes; numbers in network order), then the payload. The bytes F5 and FF occur in no UTF-8 text, so in an undamaged
 * segment the mark begins nothing but a record, and reading goes on at the next mark behind a damaged one.
 */
const MARK = Buffer.from([0xf5, 0x78, 0x71, 0xff]);
const CHECKED_HEADER_BYTES = 12;
const HEADER_BYTES = 16;

/** What reading a segment finds, in order. */
export type Found =
  | { readonly kind: 'record'; readonly payload: Buffer }
  /** Bytes that are no record: a record was written here and has changed since. */
  | { readonly kind: 'damaged'; readonly bytes: Buffer }
  /** The end of a segment whose last write did not come to its end, so that it was never acknowledged. */
  | { readonly kind: 'torn'; readonly bytes: Buffer };

/** A payload as a record. */
export function frameRecord(payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MARK.copy(header);
  header.writeUInt32BE(payload.length, 4);
  header.writeUInt32BE(crc32(payload), 8);
  header.writeUInt32BE(crc32(header.subarray(0, CHECKED_HEADER_BYTES)), CHECKED_HEADER_BYTES);
  return Buffer.concat([header, payload]);
}

/** Reads the content of a segment: every record that is as it was written, and all bytes that are not one. */
export function* readRecords(segment: Buffer): Generator<Found> {
  let position = 0;
  while (position < segment.length) {
    const payload = payloadAt(segment, position);
    if (payload !== undefined) {
      yield { kind: 'record', payload };
      position += HEADER_BYTES + payload.length;
      continue;
    }
    const next = nextHeader(segment, position + 1);
    const bytes = segment.subarray(position, next);
    yield { kind: next === undefined && isTorn(bytes) ? 'torn' : 'damaged', bytes };
    position = next ?? segment.length;
  }
}

function payloadAt(segment: Buffer, position: number): Buffer | undefined {
  const header = headerAt(segment, position);
  if (header === undefined) return undefined;
  const start = position + HEADER_BYTES;
  const payload = segment.subarray(start, start + header.length);
  return payload.length === header.length && crc32(payload) === header.crc ? payload : undefined;
}

function headerAt(segment: Buffer, position: number): { length: number; crc: number } | undefined {
  const header = segment.subarray(position, position + HEADER_BYTES);
  if (header.length < HEADER_BYTES || !header.subarray(0, MARK.length).equals(MARK)) return undefined;
  const crc = crc32(header.subarray(0, CHECKED_HEADER_BYTES));
  if (crc !== header.readUInt32BE(CHECKED_HEADER_BYTES)) return undefined;
  return { length: header.readUInt32BE(4), crc: header.readUInt32BE(8) };
}

function nextHeader(segment: Buffer, from: number): number | undefined {
  for (let at = segment.indexOf(MARK, from); at !== -1; at = segment.indexOf(MARK, at + 1)) {
    if (headerAt(segment, at) !== undefined) return at;
  }
  return undefined;
}

/** A write that was cut short leaves the beginning of a record, or space that was never filled. */
function isTorn(bytes: Buffer): boolean {
  const header = headerAt(bytes, 0);
  if (header !== undefined) return bytes.length < HEADER_BYTES + header.length;
  const isBeginning =
    bytes.length < HEADER_BYTES && bytes.subarray(0, MARK.length).equals(MARK.subarray(0, bytes.length));
  return isBeginning || bytes.every((byte) => byte === 0);
}
