import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { S3Options } from '../../forward/senders/s3/s3-options.ts';
import type { ArchiveFiles } from './archive-files.ts';
import { FileCache } from './file-cache.ts';
import { namingFullDisk } from './full-disk.ts';
import type { ArchiveObjects } from './objects.ts';

/** The files as objects of a bucket. What is read is downloaded to a cache on the disk of this machine. */
export function openBucketFiles(options: S3Options, directory: string, cacheMaxBytes: number): ArchiveFiles {
  let opened: Promise<ArchiveObjects> | undefined;
  // The SDK takes 150 ms to load, which only those who use it should wait for.
  const open = () => (opened ??= import('./objects.ts').then(({ openObjects }) => openObjects(options)));
  // Not the directory itself: it may have files of before, which are nowhere else.
  const cache = new FileCache(path.join(directory, '.cache'), cacheMaxBytes, (file, target) =>
    namingFullDisk(directory, async () => (await open()).download(file, target)),
  );
  return {
    directory,
    where: `s3://${options.bucket}/${options.prefix}`,
    /** Not to the cache: what is read next is then what the bucket has. */
    async keep(file, written) {
      await (await open()).upload(file, written);
      await rm(written);
    },
    use: (files) => cache.use(files),
    digest: async (file) => (await open()).digest(file),
    sizes: async () => (await open()).sizes(),
    async remove(name) {
      await cache.remove(name);
      await (await open()).remove(name);
    },
  };
}
