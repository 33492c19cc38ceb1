import { randomUUID } from 'node:crypto';
import { link, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { DAY_MS } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { unlessMissing } from '../../lib/files/durable-file.ts';
import { makePrivateDirectory } from '../../lib/files/private-directory.ts';
import { formatBytes } from '../../lib/text/units.ts';
import { placeIn, type StoredFile, type UsedFiles } from './archive-files.ts';

/** Downloads of one statement that run at once: most of their time is that of the way to the server. */
const DOWNLOADS = 4;

/** Links of files in use. One that is older than a day is of a process that died. */
const IN_USE = '.in-use';

interface Wanted {
  readonly file: StoredFile;
  /** The link of this use. */
  readonly own: string;
}

interface Cached {
  readonly path: string;
  readonly bytes: number;
  readonly usedAt: number;
  readonly isInUse: boolean;
}

/**
 * Downloaded files on a disk, which several processes may share. The least recently used ones are deleted when others need
 * their space. A use has a hard link of its own to each of its files, so that the number of links says whether a file is in
 * use, whichever process asks.
 */
export class FileCache {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #download: (file: StoredFile, target: string) => Promise<void>;
  readonly #inTurn = pLimit(1);

  /** `download` writes a file to a path, or throws if it is not the one that was written. */
  constructor(
    directory: string,
    maxBytes: number,
    download: (file: StoredFile, target: string) => Promise<void>,
  ) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
    this.#download = download;
  }

  /** Throws a UsageError if these files do not fit beside the others that are in use. */
  async use(files: readonly StoredFile[]): Promise<UsedFiles> {
    const inUse = path.join(this.#directory, IN_USE);
    await makePrivateDirectory(inUse);
    const wanted = files.map((file) => ({ file, own: path.join(inUse, `${randomUUID()}.parquet`) }));
    await using links = new AsyncDisposableStack();
    for (const { own } of wanted) links.defer(() => rm(own, { force: true }));
    const missing = await this.#linkCached(wanted);
    if (missing.length > 0) await this.#inTurn(() => this.#fetch(missing));
    const kept = links.move();
    return {
      paths: wanted.map(({ own }) => own),
      [Symbol.asyncDispose]: async () => kept.disposeAsync(),
    };
  }

  async remove(name: string): Promise<void> {
    await rm(placeIn(this.#directory, name), { force: true });
  }

  /** Returns those that are not there. */
  async #linkCached(wanted: readonly Wanted[]): Promise<readonly Wanted[]> {
    const missing: Wanted[] = [];
    for (const one of wanted) {
      const cached = link(placeIn(this.#directory, one.file.path), one.own).then(() => stat(one.own));
      const found = await unlessMissing(cached, undefined);
      if (found?.size === one.file.bytes) await noteUse(one.own);
      else {
        await rm(one.own, { force: true });
        missing.push(one);
      }
    }
    return missing;
  }

  async #fetch(wanted: readonly Wanted[]): Promise<void> {
    // The statement before may have downloaded the same ones.
    const missing = await this.#linkCached(wanted);
    await this.#makeRoom(missing.reduce((sum, { file }) => sum + file.bytes, 0));
    const atOnce = pLimit(DOWNLOADS);
    const fetched = await Promise.allSettled(missing.map((one) => atOnce(() => this.#fetchOne(one))));
    const failed = fetched.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #fetchOne({ file, own }: Wanted): Promise<void> {
    await this.#download(file, own);
    await noteUse(own);
    const cached = placeIn(this.#directory, file.path);
    await makePrivateDirectory(path.dirname(cached));
    await link(own, `${own}.new`);
    await rename(`${own}.new`, cached);
  }

  async #makeRoom(bytes: number): Promise<void> {
    const cached = await this.#list();
    const sum = (files: readonly Cached[]) => files.reduce((all, one) => all + one.bytes, 0);
    const needed = bytes + sum(cached.filter(({ isInUse }) => isInUse));
    if (needed > this.#maxBytes) {
      throw new UsageError(
        `This needs ${formatBytes(needed)} of archived files at once, including those that others are reading, but the cache in ${this.#directory} has ${formatBytes(this.#maxBytes)}. Choose a shorter time, or raise ARCHIVE_CACHE_MAX_BYTES.`,
      );
    }
    let excess = bytes + sum(cached) - this.#maxBytes;
    for (const one of cached.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (excess <= 0) return;
      if (one.isInUse) continue;
      await rm(one.path, { force: true });
      excess -= one.bytes;
    }
  }

  /** Lists the files, and removes the links of processes that died. */
  async #list(): Promise<readonly Cached[]> {
    const cached: Cached[] = [];
    for (const name of await readdir(this.#directory, { recursive: true })) {
      const file = path.join(this.#directory, name);
      const found = await unlessMissing(stat(file), undefined);
      if (found?.isFile() !== true) continue;
      if (!name.startsWith(IN_USE))
        cached.push({ path: file, bytes: found.size, usedAt: found.mtimeMs, isInUse: found.nlink > 1 });
      else if (Date.now() - found.ctimeMs > DAY_MS) await rm(file, { force: true });
    }
    return cached;
  }
}

/** Finer than the clock of the file system, which is up to 4 ms late. */
async function noteUse(file: string): Promise<void> {
  const seconds = (performance.timeOrigin + performance.now()) / 1000;
  await utimes(file, seconds, seconds);
}
