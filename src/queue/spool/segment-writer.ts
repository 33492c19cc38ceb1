import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { appendDurably, isMissingFile, syncDirectory } from '../../durable-file.ts';

/** One file that frames are appended to. */
export interface SegmentWriter {
  readonly name: string;
  /** Bytes that are durable. */
  readonly bytes: number;
  /**
   * Resolves once the bytes are on the disk and the file is still where it was created. Throws SegmentTakenError if the
   * file was moved, and the system's error if the disk fails; then nothing is promised about the bytes.
   */
  append(frame: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Another process has taken the segment over, because it considered the writer dead. */
export class SegmentTakenError extends Error {
  override readonly name = 'SegmentTakenError';
}

/** Creates a segment in a directory. Its name is durable before anything is promised about its content. */
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
    async append(frame) {
      await appendDurably(handle, frame, bytes);
      // A process that takes a segment over renames it before it reads. If the file is still here after the write, that
      // process will read the frame.
      if ((await inodeAt(file)) !== ino) throw new SegmentTakenError(`${file} was taken over`);
      bytes += frame.length;
    },
    close: () => handle.close(),
  };
}

async function inodeAt(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).ino;
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw error;
  }
}
