import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { appendDurably, isNotThere, syncDirectory } from '../../durable-file.ts';

/** One file that records are appended to. */
export interface SegmentWriter {
  readonly name: string;
  /** Bytes that are durable. */
  readonly bytes: number;
  /**
   * Resolves once the bytes are on the disk and the file is still where it was made. Throws SegmentTakenError when
   * it is not, and the system's error when the disk does not take them; either way nothing is promised of them.
   */
  append(record: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Another process has taken the segment over, because it took its writer for dead. */
export class SegmentTakenError extends Error {
  override readonly name = 'SegmentTakenError';
}

/** Creates a segment in a directory; its name is durable before anything is promised of its content. */
export async function createSegment(directory: string, name: string): Promise<SegmentWriter> {
  const file = path.join(directory, name);
  const handle = await open(file, 'ax', 0o600);
  const { ino } = await handle.stat();
  await syncDirectory(directory);
  let bytes = 0;
  return {
    name,
    get bytes() {
      return bytes;
    },
    async append(record) {
      await appendDurably(handle, record, bytes);
      // Whoever takes a segment over renames it before reading: what was written before a look that still finds
      // it here, is read there.
      if ((await inodeAt(file)) !== ino) throw new SegmentTakenError(`${file} was taken over`);
      bytes += record.length;
    },
    close: () => handle.close(),
  };
}

async function inodeAt(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).ino;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
