import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/**
 * Appends to a file of `size` bytes. Resolves once the bytes are on the disk. On an error, which it throws, the file
 * is cut back: what follows half a write must not be taken for its other half.
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

/** Makes the directory's entries durable: without, a new file can be gone after a power failure, content and all. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether a system call failed because there is no such file. */
export function isNotThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
