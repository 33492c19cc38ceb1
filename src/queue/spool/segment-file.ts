import { crc32 } from 'node:zlib';
import { open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { appendDurably, syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';

/**
 * A frame of a spool segment: a header of 16 bytes (mark, length and CRC-32 of the payload, CRC-32 of these twelve bytes;
 * numbers in network byte order), then the payload. The bytes F5 and FF never occur in UTF-8 text, so in an undamaged
 * segment every mark begins a frame, and after a damaged frame reading continues at the next mark.
 */
const MARK = Buffer.from([0xf5, 0x78, 0x71, 0xff]);
const CHECKED_HEADER_BYTES = 12;
const HEADER_BYTES = 16;

export type Found =
  | { readonly kind: 'frame'; readonly payload: Buffer }
  /** Bytes that are not a frame: they were a frame and have changed since. */
  | { readonly kind: 'damaged'; readonly bytes: Buffer }
  /** The end of a segment whose last write was interrupted, so it was never acknowledged. */
  | { readonly kind: 'torn'; readonly bytes: Buffer };

export function framePayload(payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MARK.copy(header);
  header.writeUInt32BE(payload.length, 4);
  header.writeUInt32BE(crc32(payload), 8);
  header.writeUInt32BE(crc32(header.subarray(0, CHECKED_HEADER_BYTES)), CHECKED_HEADER_BYTES);
  return Buffer.concat([header, payload]);
}

export function* readFrames(segment: Buffer): Generator<Found> {
  let position = 0;
  while (position < segment.length) {
    const payload = payloadAt(segment, position);
    if (payload !== undefined) {
      yield { kind: 'frame', payload };
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

/** An interrupted write leaves the beginning of a frame, or space that was never filled. */
function isTorn(bytes: Buffer): boolean {
  const header = headerAt(bytes, 0);
  if (header !== undefined) return bytes.length < HEADER_BYTES + header.length;
  const isBeginning =
    bytes.length < HEADER_BYTES && bytes.subarray(0, MARK.length).equals(MARK.subarray(0, bytes.length));
  return isBeginning || bytes.every((byte) => byte === 0);
}

export type SegmentWriter = Awaited<ReturnType<typeof createSegment>>;

/** Another process has taken the segment over, because it considered the writer dead. */
export class SegmentTakenError extends Error {
  override readonly name = 'SegmentTakenError';
}

/** Creates a segment in a directory. Its name is durable before anything is promised about its content. */
export async function createSegment(directory: string, name: string) {
  const file = path.join(directory, name);
  const handle = await open(file, 'ax', 0o600);
  const { ino } = await handle.stat();
  try {
    await syncDirectory(directory);
  } catch (error) {
    // Nobody knows of the file yet: it would stay, and open, after each attempt.
    await handle.close();
    await rm(file, { force: true });
    throw error;
  }
  let bytes = 0;
  return {
    name,
    get bytes() {
      return bytes;
    },
    /**
     * Resolves once the bytes are on the disk and the file is still where it was created. Throws SegmentTakenError if the
     * file was moved, and the system's error if the disk fails; then nothing is promised about the bytes.
     */
    async append(frame: Buffer): Promise<void> {
      await appendDurably(handle, frame, bytes);
      // A process that takes a segment over renames it before it reads. If the file is still here after the write, that
      // process will read the frame.
      if ((await unlessMissing(stat(file), undefined))?.ino !== ino)
        throw new SegmentTakenError(`${file} was taken over`);
      bytes += frame.length;
    },
    close: () => handle.close(),
  };
}
