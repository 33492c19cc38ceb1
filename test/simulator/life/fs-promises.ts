/** `node:fs/promises` of one life of a process: what the product calls, on the disk of its machine. */
import path from 'node:path';
import type { Inode } from '../disk.ts';
import { fail } from '../disk.ts';
import { startingProcess } from '../simulated-process.ts';

const self = startingProcess();
const { disk } = self.machine;

/** Milliseconds that a call takes that changes something, and that a sync takes. */
const CALL_MS = 0.05;
const SYNC_MS = 1;

/** One trip to the device. The process finds the result when it is awake. */
const call = <T>(work: () => T, ms = CALL_MS): Promise<T> =>
  self.ask(ms * disk.slowness * (0.5 + self.nextRandom()), work, 0);

const statOf = (inode: Inode) => ({
  ino: inode.ino,
  size: inode.content.length,
  mtimeMs: inode.mtimeMs,
  isDirectory: () => inode.entries !== undefined,
});

class FileHandle {
  readonly #inode: Inode;

  constructor(inode: Inode) {
    this.#inode = inode;
    self.openFiles += 1;
  }
  appendFile = (bytes: Buffer) => call(() => disk.append(this.#inode, bytes, self.readClock()));
  datasync = () => call(() => disk.sync(this.#inode, self.random), SYNC_MS);
  sync = () => this.datasync();
  truncate = (size: number) =>
    call(() => {
      this.#inode.content = this.#inode.content.subarray(0, size);
    });
  stat = () => call(() => statOf(this.#inode));
  close = () =>
    call(() => {
      self.openFiles -= 1;
    });
}

export const open = (file: string, flags = 'r') =>
  call(() => new FileHandle(flags === 'ax' ? disk.make(file, false, self.readClock()) : disk.find(file)));

export const readFile = (file: string, encoding?: BufferEncoding) =>
  call(() => {
    const { content } = disk.find(file);
    return encoding === undefined ? Buffer.from(content) : content.toString(encoding);
  });

export const writeFile = (file: string, content: string | Buffer, { flush = false } = {}) =>
  call(() => {
    const inode = tryFind(file) ?? disk.make(file, false, self.readClock());
    inode.content = Buffer.alloc(0);
    disk.append(inode, Buffer.from(content), self.readClock());
    if (flush) disk.sync(inode, self.random);
  });

export const stat = (file: string) => call(() => statOf(disk.find(file)));
export const access = (file: string) => call(() => void disk.find(file));
export const statfs = () => call(() => ({ bavail: Math.floor(disk.freeBytes / 4096), bsize: 4096 }));
export const rename = (from: string, to: string) => call(() => disk.rename(from, to));
export const rmdir = (file: string) => call(() => disk.remove(file));
export const rm = (file: string, { force = false } = {}) =>
  call(() => {
    if (!force || tryFind(file) !== undefined) disk.remove(file);
  });

export const mkdir = (file: string, { recursive = false } = {}) =>
  call(() => {
    if (tryFind(file) !== undefined) return recursive ? undefined : fail('EEXIST', file);
    const missing = [file];
    if (recursive)
      for (let at = path.dirname(file); tryFind(at) === undefined; at = path.dirname(at)) missing.unshift(at);
    for (const each of missing) disk.make(each, true, self.readClock());
    return undefined;
  });

export const readdir = (file: string) =>
  call(() =>
    [...(disk.find(file).entries ?? fail('ENOTDIR', file))].map(([name, { entries }]) => ({
      name,
      isDirectory: () => entries !== undefined,
    })),
  );

export const utimes = (file: string, _accessed: Date, modified: Date) =>
  call(() => {
    disk.find(file).mtimeMs = modified.getTime();
  });

function tryFind(file: string): Inode | undefined {
  try {
    return disk.find(file);
  } catch {
    return undefined;
  }
}
