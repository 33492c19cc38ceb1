import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { S3Options } from '../../forward/senders/s3/s3-options.ts';
import type { ArchiveFiles, StoredFile, UsedFiles } from './archive-files.ts';
import { FileCache } from './file-cache.ts';
import { namingFullDisk } from './full-disk.ts';
import type { ArchiveObjects } from './objects.ts';

/** The files as objects of a bucket. What is read is downloaded to a cache on the disk of this machine. */
export class BucketFiles implements ArchiveFiles {
  readonly directory: string;
  readonly where: string;
  readonly #options: S3Options;
  readonly #cache: FileCache;
  #opened: Promise<ArchiveObjects> | undefined;

  constructor(options: S3Options, directory: string, cacheMaxBytes: number) {
    this.directory = directory;
    this.where = `s3://${options.bucket}/${options.prefix}`;
    this.#options = options;
    // Not the directory itself: it may have files of before, which are nowhere else.
    this.#cache = new FileCache(path.join(directory, '.cache'), cacheMaxBytes, (file, target) =>
      namingFullDisk(directory, async () => (await this.#open()).download(file, target)),
    );
  }

  /** Not to the cache: what is read next is then what the bucket has. */
  async keep(file: StoredFile, written: string): Promise<void> {
    await (await this.#open()).upload(file, written);
    await rm(written);
  }

  use(files: readonly StoredFile[]): Promise<UsedFiles> {
    return this.#cache.use(files);
  }

  async digest(file: StoredFile): Promise<string> {
    return (await this.#open()).digest(file);
  }

  async sizes(): Promise<ReadonlyMap<string, number>> {
    return (await this.#open()).sizes();
  }

  async remove(name: string): Promise<void> {
    await this.#cache.remove(name);
    await (await this.#open()).remove(name);
  }

  // The SDK takes 150 ms to load, which only those who use it should wait for.
  #open(): Promise<ArchiveObjects> {
    return (this.#opened ??= import('./objects.ts').then(({ openObjects }) => openObjects(this.#options)));
  }
}
