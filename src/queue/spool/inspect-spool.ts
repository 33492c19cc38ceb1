import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile } from '../../durable-file.ts';
import { CORRUPT_SUFFIX, SEGMENT_SUFFIX } from './ownership.ts';

/** The contents of a spool, of all processes that write to it. */
export interface SpoolInspection {
  /** Segments that are waiting to be drained or being written. */
  readonly segments: number;
  readonly bytes: number;
  /** Files with damaged parts of segments. */
  readonly corrupt: readonly string[];
}

/** Counts the contents of a spool. A spool that was never used is empty. Throws the system's error if it can't be read. */
export async function inspectSpool(directory: string): Promise<SpoolInspection> {
  const names = await readdir(directory, { recursive: true }).catch((error: unknown) => {
    if (isMissingFile(error)) return [];
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
 * Throws the system's error if no file can be created in the directory or, if it does not exist yet, in its nearest
 * existing parent. Leaves no file.
 */
export async function checkWritable(directory: string): Promise<void> {
  const file = path.join(directory, `.written-by-${process.pid}`);
  try {
    await writeFile(file, '', { mode: 0o600 });
    await rm(file, { force: true });
  } catch (error) {
    if (!isMissingFile(error) || path.dirname(directory) === directory) throw error;
    await checkWritable(path.dirname(directory));
  }
}

/** A segment may have been drained and removed by now. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissingFile(error)) return 0;
    throw error;
  }
}
