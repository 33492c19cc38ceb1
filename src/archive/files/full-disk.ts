import { describeError, OutageError } from '../../lib/errors.ts';

/** The words of the system, and those of DuckDB for what it keeps beside its memory. */
const FULL = /no space left on device|max_temp_directory_size/i;

export const isFullDisk = (error: unknown) => FULL.test(describeError(error));

/** Runs work that writes in ARCHIVE_DIR. Throws an OutageError that names the directory if its disk is full. */
export async function namingFullDisk<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isFullDisk(error)) throw error;
    throw new OutageError(
      `The disk of ARCHIVE_DIR ${directory} is full. Free space, set ARCHIVE_DIR to a directory on another disk, or lower ARCHIVE_CACHE_MAX_BYTES.`,
      { cause: error },
    );
  }
}
