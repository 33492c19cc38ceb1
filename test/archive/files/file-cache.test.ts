import { hash } from 'node:crypto';
import { link, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { placeIn, type StoredFile } from '../../../src/archive/files/archive-files.ts';
import { DirectoryFiles } from '../../../src/archive/files/directory-files.ts';
import { FileCache } from '../../../src/archive/files/file-cache.ts';
import { newDirectory } from '../../support/use-directory.ts';

const BYTES = 100;

const fileOf = (name: string): StoredFile => ({
  path: `audit_events/${name}.parquet`,
  bytes: BYTES,
  sha256: hash('sha256', name),
});

const [A, B, C, D] = [fileOf('a'), fileOf('b'), fileOf('c'), fileOf('d')];

/** A cache for two files, and what it downloaded. */
async function openCache(directory: string) {
  const downloads: string[] = [];
  const cache = new FileCache(directory, 2 * BYTES, async ({ path: name }, target) => {
    downloads.push(name);
    await writeFile(target, name.padEnd(BYTES));
  });
  const read = async (...files: readonly StoredFile[]) => {
    await using used = await cache.use(files);
    return await Promise.all(used.paths.map(async (one) => (await readFile(one, 'utf8')).trimEnd()));
  };
  return { cache, downloads, read };
}

const cachedIn = async (directory: string) =>
  (await readdir(directory, { recursive: true })).filter((name) => /^audit.*parquet$/.test(name)).toSorted();

const pathsOf = (...files: readonly StoredFile[]) => files.map((file) => file.path);

it('downloads a file once, and deletes those that were not used for the longest time', async () => {
  const directory = await newDirectory();
  const { downloads, read } = await openCache(directory);
  expect(await read(A, B)).toEqual(pathsOf(A, B));
  expect(await read(A)).toEqual(pathsOf(A));
  expect(await read(C)).toEqual(pathsOf(C));
  expect(await cachedIn(directory)).toEqual(pathsOf(A, C));
  await read(B);
  expect(downloads).toEqual(pathsOf(A, B, C, B));
});

it('deletes no file that a statement reads, of this process or of another one', async () => {
  const directory = await newDirectory();
  const [one, other] = [await openCache(directory), await openCache(directory)];
  {
    await using used = await one.cache.use([A]);
    await other.read(B);
    await other.read(C);
    expect(await cachedIn(directory)).toEqual(pathsOf(A, C));
    expect(await Promise.all(used.paths.map((file) => readFile(file, 'utf8')))).toEqual([
      A.path.padEnd(BYTES),
    ]);
    await expect(other.read(B, C)).rejects.toThrow(
      /^This needs 300 bytes of archived files at once, including those that others are reading, but the cache in .* has 200 bytes\. .*ARCHIVE_CACHE_MAX_BYTES/,
    );
  }
  expect(await other.read(B, D)).toEqual(pathsOf(B, D));
  expect(await cachedIn(directory)).toEqual(pathsOf(B, D));
});

it('downloads a file again that has another size, and leaves nothing of a download that failed', async () => {
  const directory = await newDirectory();
  const { downloads, read } = await openCache(directory);
  await read(A);
  await writeFile(path.join(directory, A.path), 'cut');
  expect(await read(A)).toEqual(pathsOf(A));
  expect(downloads).toEqual(pathsOf(A, A));
  const failing = new FileCache(directory, 2 * BYTES, async (_, target) => {
    await writeFile(target, 'part');
    throw new Error('the bucket is gone');
  });
  await expect(failing.use([B, A])).rejects.toThrow('the bucket is gone');
  expect(await cachedIn(directory)).toEqual(pathsOf(A));
  expect(await readdir(path.join(directory, '.in-use'))).toEqual([]);
});

it.each(['../b.parquet', '/etc/b.parquet', 'audit_events/../../b.parquet', '.in-use/b.parquet', ''])(
  'has no place for %j, which is not in the archive',
  async (outside) => {
    const directory = await newDirectory();
    const { downloads, read } = await openCache(path.join(directory, 'cache'));
    await expect(read({ ...A, path: outside })).rejects.toThrow('is not a path in the archive');
    expect(downloads).toEqual([]);
    const files = new DirectoryFiles(directory);
    await expect(files.digest({ ...A, path: outside })).rejects.toThrow('is not a path in the archive');
    await expect(files.use([{ ...A, path: outside }])).rejects.toThrow('is not a path in the archive');
    expect(() => placeIn('', outside)).toThrow('is not a path in the archive');
  },
);

it('two statements that need the same file download it once', async () => {
  const directory = await newDirectory();
  const { downloads, read } = await openCache(directory);
  expect(await Promise.all([read(A, B), read(A), read(B, A)])).toEqual([
    pathsOf(A, B),
    pathsOf(A),
    pathsOf(B, A),
  ]);
  expect(downloads.toSorted()).toEqual(pathsOf(A, B));
});

it('a file that a process used when it died counts as in use', async () => {
  const directory = await newDirectory();
  const { read } = await openCache(directory);
  await read(A, B);
  const cached = path.join(directory, A.path);
  await link(cached, path.join(directory, '.in-use', 'of-a-dead-process.parquet'));
  await read(C);
  expect(await cachedIn(directory)).toEqual(pathsOf(A, C));
  expect((await stat(cached)).nlink).toBe(2);
});
