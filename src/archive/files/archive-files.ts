import path from 'node:path';
import type { ArchivedFile } from '../../store/archive/archived-files.ts';

/** A file of the archive as the table `archived_files` has it. Its path is relative to the archive. */
export type StoredFile = Pick<ArchivedFile, 'path' | 'bytes' | 'sha256'>;

/** A file is missing, or is not the one that was written. */
export class BrokenFileError extends Error {
  override readonly name = 'BrokenFileError';
  /** What is wrong, as it follows the name of the file: `is gone`. */
  readonly reason: string;

  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(`${file} ${reason}: restore it from a copy of the archive`, options);
    this.reason = reason;
  }
}

/**
 * Where a file of the archive is below a directory or a prefix. Throws a BrokenFileError for a path that leads elsewhere: who
 * can write to the table could otherwise have any file of this machine read, or replaced by what a bucket has.
 */
export function placeIn(directory: string, file: string): string {
  const isWithin = file.split('/').every((part) => part !== '' && !part.startsWith('.'));
  if (!isWithin) throw new BrokenFileError(file, 'is not a path in the archive');
  return path.join(directory, file);
}

/** Files that can be read at these paths, in the order in which they were named, until this is disposed of. */
export interface UsedFiles extends AsyncDisposable {
  readonly paths: readonly string[];
}

/**
 * Where the files of the archive are. Its functions throw a BrokenFileError for a file that is missing or not the one that was
 * written, and an OutageError if the place cannot be reached.
 */
export interface ArchiveFiles {
  /** The place, as messages name it. */
  readonly where: string;
  /** ARCHIVE_DIR: for what is written and read meanwhile, in directories whose names begin with a dot. */
  readonly directory: string;
  /** Stores a file that was written in `directory`, and is not there afterwards. */
  keep(file: StoredFile, written: string): Promise<void>;
  /** Lets files be read on this machine. */
  use(files: readonly StoredFile[]): Promise<UsedFiles>;
  /** Reads a file at its place, and resolves with its SHA-256. */
  digest(file: StoredFile): Promise<string>;
  /** The size of every file in bytes, by path. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Deletes a file, if it is there. Throws an Error that names what remains of it. */
  remove(path: string): Promise<void>;
}
