import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isNotThere } from '../../durable-file.ts';
import { CORRUPT_SUFFIX, SEGMENT_SUFFIX } from './ownership.ts';

/** What lies in a spool, whoever writes in it. */
export interface SpoolInspection {
  /** Segments that are still to be replayed, or are being written. */
  readonly segments: number;
  readonly bytes: number;
  /** Files with what was damaged and set aside. */
  readonly corrupt: readonly string[];
}

/** Counts what lies in a spool. One that was never used is empty. Throws the system's error when it cannot be read. */
export async function inspectSpool(directory: string): Promise<SpoolInspection> {
  const names = await readdir(directory, { recursive: true }).catch((error: unknown) => {
    if (isNotThere(error)) return [];
    throw error;
  });
  const segments = names.filter((name) => name.endsWith(SEGMENT_SUFFIX));
  const sizes = await Promise.all(segments.map((name) => sizeOf(path.join(directory, name))));
  return {
    segments: segments.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    corrupt: names.filter((name) => name.endsWith(CORRUPT_SUFFIX)).map((name) => path.join(directory, name)),
  };
}

/**
 * Throws the system's error when no file can be made in the directory, or, before there is one, in the nearest above.
 * Leaves nothing behind.
 */
export async function checkWritable(directory: string): Promise<void> {
  const file = path.join(directory, `.written-by-${process.pid}`);
  try {
    await writeFile(file, '', { mode: 0o600 });
    await rm(file, { force: true });
  } catch (error) {
    if (!isNotThere(error) || path.dirname(directory) === directory) throw error;
    await checkWritable(path.dirname(directory));
  }
}

/** A segment may be replayed, and gone, by now. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isNotThere(error)) return 0;
    throw error;
  }
}
