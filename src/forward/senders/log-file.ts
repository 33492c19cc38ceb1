import { open, rename, stat, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { appendDurably, isMissingFile, syncDirectory } from '../../durable-file.ts';

/** A file that lines are appended to. */
export interface LogFile {
  /** Bytes. */
  size(): number;
  /** When the file was last written, in epoch milliseconds. */
  writtenAt(): number;
  /** Whether the path still leads to this file. */
  isInPlace(): Promise<boolean>;
  /** Resolves once the lines are on the disk. After an error the file is truncated to its previous size. */
  append(lines: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Only owner and group may read the file: events name people. */
const MODE = 0o640;

/** Opens a file for appending and creates it if necessary. Throws the system's error. */
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

/** Ends a partial line that a killed program left behind, so that the next line stands alone. */
async function endLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer.toString() !== '\n') await handle.appendFile('\n');
}

/**
 * Renames `path` to `path.1`, the previous `path.1` to `path.2`, and so on; the last of `keep` files is lost. An
 * interrupted rotation leaves a gap in the numbers, which the next one closes.
 */
export async function rotate(path: string, keep: number): Promise<void> {
  for (let number = keep - 1; number >= 1; number--) {
    await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
  }
  await renameIfThere(path, `${path}.1`);
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
  }
}

/** Writes a whole file durably, in one step for its readers. Throws the system's error. */
export async function replaceFile(filePath: string, content: string): Promise<void> {
  const partial = `${filePath}.partial`;
  await writeFile(partial, content, { mode: MODE, flush: true });
  await rename(partial, filePath);
  await syncDirectory(path.dirname(filePath));
}
