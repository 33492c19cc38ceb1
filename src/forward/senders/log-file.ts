import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { appendDurably, isMissingFile, syncDirectory } from '../../durable-file.ts';

/** A file that lines are appended to. */
export interface LogFile {
  /** Bytes. */
  size(): number;
  /** When it was last written, in epoch milliseconds. */
  writtenAt(): number;
  /** Whether its path still leads to it. */
  isInPlace(): Promise<boolean>;
  /** Resolves once the lines are on the disk; on an error the file is cut back to what it was. */
  append(lines: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Only owner and group may read: events name people. */
const MODE = 0o640;

/** Opens a file for appending, or makes it. Throws the system's error. */
export async function openLogFile(filePath: string): Promise<LogFile> {
  const handle = await open(filePath, 'a+', MODE);
  try {
    const { ino, dev, mtimeMs } = await handle.stat();
    await endLine(handle);
    await syncDirectory(path.dirname(filePath));
    let { size } = await handle.stat();
    let writtenAt = mtimeMs;

    return {
      size: () => size,
      writtenAt: () => writtenAt,
      async isInPlace() {
        try {
          const there = await stat(filePath);
          return there.ino === ino && there.dev === dev;
        } catch (error) {
          if (isMissingFile(error)) return false;
          throw error;
        }
      },
      async append(lines) {
        await appendDurably(handle, lines, size);
        size += lines.length;
        writtenAt = Date.now();
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A program that was killed while it wrote leaves half a line: the next one must not become its other half. */
async function endLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer.toString() !== '\n') await handle.appendFile('\n');
}
