import { open, rename, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

/**
 * Appends to a file of `size` bytes. Resolves once the bytes are on the disk. On an error, which it throws, it truncates
 * the file to its old size: later bytes must not be mistaken for the rest of a partial write.
 */
export async function appendDurably(handle: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    await handle.appendFile(bytes);
    await handle.datasync();
  } catch (error) {
    await handle.truncate(size).catch(() => undefined);
    throw error;
  }
}

/** Writes a whole file durably, in one step for its readers. Throws the system's error. */
export async function replaceFile(file: string, content: string, mode = 0o600): Promise<void> {
  await writeFile(`${file}.new`, content, { mode, flush: true });
  await rename(`${file}.new`, file);
  await syncDirectory(path.dirname(file));
}

/** Makes a written file durable, and readable for its owner alone. */
export async function keepPrivately(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.chmod(0o600);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes the entries of a directory durable. Without it, a power failure can remove a new file with its content. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether a system call failed because the file or directory does not exist (ENOENT). */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** What a system call resolves with, or something else if the file or directory does not exist. */
export const unlessMissing = <T, Other>(call: Promise<T>, other: Other): Promise<T | Other> =>
  call.catch((error: unknown) => {
    if (isMissingFile(error)) return other;
    throw error;
  });
