import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/**
 * Appends to a file of `size` bytes. Resolves when the bytes are on disk. On an error the file is truncated to its old
 * size, so that no later write continues half a write; then the error is thrown.
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

/** Makes the directory's entries durable: otherwise a power failure can remove a new file with its content. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether a system call failed because the file does not exist. */
export function isNotThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
