import { readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { describeError } from '../../lib/errors.ts';
import { isMissingFile, syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';
import { makePrivateDirectory } from '../../lib/files/private-directory.ts';
import { sha256Of } from '../../lib/files/sha256.ts';
import {
  BrokenFileError,
  placeIn,
  type ArchiveFiles,
  type StoredFile,
  type UsedFiles,
} from './archive-files.ts';

/** The files in a directory. */
export class DirectoryFiles implements ArchiveFiles {
  readonly directory: string;
  readonly where: string;

  constructor(directory: string) {
    this.directory = directory;
    this.where = directory;
  }

  async keep(file: StoredFile, written: string): Promise<void> {
    const target = this.#pathOf(file);
    await makePrivateDirectory(path.dirname(target));
    await rename(written, target);
    await syncDirectory(path.dirname(target));
  }

  /** Compares their sizes: `verify` compares every row. */
  async use(files: readonly StoredFile[]): Promise<UsedFiles> {
    const paths = files.map((file) => this.#pathOf(file));
    for (const file of files) {
      const { size } = await this.#read(file, stat);
      if (size !== file.bytes)
        throw new BrokenFileError(
          this.#pathOf(file),
          `has ${size} bytes, but was written with ${file.bytes}`,
        );
    }
    return { paths, [Symbol.asyncDispose]: async () => undefined };
  }

  digest(file: StoredFile): Promise<string> {
    return this.#read(file, sha256Of);
  }

  async sizes(): Promise<ReadonlyMap<string, number>> {
    const names = await unlessMissing(readdir(this.directory, { recursive: true }), []);
    const files = names.filter((name) => name.endsWith('.parquet') && !name.startsWith('.'));
    const sizes = new Map<string, number>();
    for (const name of files) {
      const found = await unlessMissing(stat(path.join(this.directory, name)), undefined);
      if (found !== undefined) sizes.set(name, found.size);
    }
    return sizes;
  }

  async remove(name: string): Promise<void> {
    await rm(placeIn(this.directory, name), { force: true });
  }

  #pathOf(file: StoredFile): string {
    return placeIn(this.directory, file.path);
  }

  async #read<T>(file: StoredFile, read: (path: string) => Promise<T>): Promise<T> {
    try {
      return await read(this.#pathOf(file));
    } catch (error) {
      const reason = isMissingFile(error) ? 'is gone' : `cannot be read (${describeError(error)})`;
      throw new BrokenFileError(this.#pathOf(file), reason, { cause: error });
    }
  }
}
