import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissingFile, unlessMissing } from '../../lib/files/durable-file.ts';
import { CORRUPT_SUFFIX, SEGMENT_SUFFIX } from './ownership.ts';

/** Counts the contents of a spool, of all processes that write to it. A spool that was never used is empty. Throws the system's error if it can't be read. */
export async function inspectSpool(directory: string) {
  const names = await unlessMissing(readdir(directory, { recursive: true }), []);
  const segments = names.filter((name) => name.endsWith(SEGMENT_SUFFIX));
  // A segment may have been drained and removed by now.
  const found = await Promise.all(
    segments.map((name) => unlessMissing(stat(path.join(directory, name)), { size: 0 })),
  );
  return {
    segments: segments.length,
    bytes: found.reduce((sum, { size }) => sum + size, 0),
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
