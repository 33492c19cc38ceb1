import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from './durable-file.ts';

/**
 * Bytes that this user may still write on the disk of a directory. A directory that does not exist yet is on the disk
 * of its nearest parent that does.
 */
export async function freeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    const parent = path.dirname(path.resolve(directory));
    if (!isMissingFile(error) || parent === path.resolve(directory)) throw error;
    return freeBytes(parent);
  }
}
