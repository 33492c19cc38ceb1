import path from 'node:path';
import type { Random } from '../../emulator/random.ts';

/** A file or a directory on the disk. */
export interface Inode {
  readonly ino: number;
  /** Of a directory; undefined: it is a file. */
  readonly entries: Map<string, Inode> | undefined;
  content: Buffer;
  /** The content that a power failure leaves: what was synced last. */
  synced: Buffer;
  mtimeMs: number;
  /** What the content is the beginning of, with space for what is appended: files were copied for each append otherwise. */
  space: Buffer;
  /** The bytes of it that are in use. */
  used: number;
}

/** A change of directories that a power failure may undo, until each directory of it is synced. */
interface Change {
  readonly directories: readonly Inode[];
  /** What it removes. */
  readonly removed: Inode | undefined;
  readonly undo: () => void;
}

export type SystemCode = 'ENOENT' | 'EEXIST' | 'ENOTEMPTY' | 'ENOSPC' | 'EIO' | 'ENOTDIR' | 'EISDIR';

/** The smallest unit that a disk writes whole. */
const SECTOR = 512;

const DISK_BYTES = 64 * 1024 * 1024 * 1024;

/** The disk of a machine, with one directory. */
export class SimulatedDisk {
  readonly root = newInode(true, 0);
  /** Bytes that can still be written; undefined: more than enough. */
  roomBytes: number | undefined;
  /** Every call takes this many times as long. */
  slowness = 1;
  /** The share of syncs that fail. */
  syncFailures = 0;
  #unsynced: Change[] = [];
  #segments: ReadonlyMap<string, Inode> | undefined;

  /** A disk with one directory. */
  constructor(directory: string) {
    this.make(directory, true, 0);
    this.#unsynced = [];
  }

  /** What the disk says is free, if that is not true. */
  reportsFree: number | undefined;

  get freeBytes(): number {
    return this.reportsFree ?? this.roomBytes ?? DISK_BYTES;
  }

  /** The file or directory. Throws ENOENT. */
  find(file: string): Inode {
    let inode: Inode | undefined = this.root;
    for (const name of partsOf(file)) inode = inode?.entries?.get(name);
    return inode ?? fail('ENOENT', file);
  }

  make(file: string, isDirectory: boolean, nowMs: number): Inode {
    const parent = this.find(path.dirname(file));
    const name = path.basename(file);
    if (parent.entries?.has(name) === true) return fail('EEXIST', file);
    const made = newInode(isDirectory, nowMs);
    this.#change(
      [parent],
      () => parent.entries?.set(name, made),
      () => parent.entries?.delete(name),
    );
    parent.mtimeMs = nowMs;
    return made;
  }

  remove(file: string): void {
    const parent = this.find(path.dirname(file));
    const removed = this.find(file);
    if (removed.entries !== undefined && removed.entries.size > 0) fail('ENOTEMPTY', file);
    const name = path.basename(file);
    this.#change(
      [parent],
      () => parent.entries?.delete(name),
      () => parent.entries?.set(name, removed),
      removed,
    );
  }

  rename(from: string, to: string): void {
    const [source, target] = [this.find(path.dirname(from)), this.find(path.dirname(to))];
    const moved = this.find(from);
    const [oldName, newName] = [path.basename(from), path.basename(to)];
    const replaced = target.entries?.get(newName);
    this.#change(
      [source, target],
      () => {
        source.entries?.delete(oldName);
        target.entries?.set(newName, moved);
      },
      () => {
        if (replaced === undefined) target.entries?.delete(newName);
        else target.entries?.set(newName, replaced);
        source.entries?.set(oldName, moved);
      },
    );
  }

  /** Appends bytes, as many as there is room for: then throws ENOSPC. */
  append(inode: Inode, bytes: Buffer, nowMs: number): void {
    const fitting = Math.min(bytes.length, this.roomBytes ?? Infinity);
    extend(inode, bytes.subarray(0, fitting));
    inode.mtimeMs = nowMs;
    if (this.roomBytes === undefined) return;
    this.roomBytes -= fitting;
    if (fitting < bytes.length) fail('ENOSPC', 'write');
  }

  /** After a sync that fails, Linux takes the content for clean: a later one does not write it. */
  sync(inode: Inode, random: Random): void {
    if (this.syncFailures > 0 && random.chance(this.syncFailures)) fail('EIO', 'fsync');
    inode.synced = inode.content;
    if (inode.entries !== undefined) this.#settle(inode);
  }

  /**
   * A power failure. Of what was not synced, the disk has any part: of each directory the first changes, of each file the
   * first sectors of what was appended, some of them empty.
   */
  losePower(random: Random): void {
    const kept = new Set<Change>();
    const broken = new Set<Inode>();
    for (const change of this.#unsynced) {
      const { removed } = change;
      const isLater = [...change.directories, ...(removed === undefined ? [] : [removed])].some((each) =>
        broken.has(each),
      );
      if (!isLater && random.chance(0.5)) kept.add(change);
      else for (const directory of change.directories) broken.add(directory);
    }
    for (const change of this.#unsynced.toReversed()) if (!kept.has(change)) change.undo();
    this.#unsynced = [];
    this.#segments = undefined;
    for (const [, inode] of listFiles(this.root)) {
      inode.content = tear(inode, random);
      inode.synced = inode.content;
    }
  }

  /** The segments of spools, by path. Listed again only once a directory has changed: a fiftieth of the time. */
  get segments(): ReadonlyMap<string, Inode> {
    this.#segments ??= new Map(listFiles(this.root).filter(([file]) => file.endsWith('.segment')));
    return this.#segments;
  }

  /** The changes of a directory are durable. No file system removes a directory before what was in it. */
  #settle(directory: Inode): void {
    const settled = this.#unsynced.filter(({ directories }) => directories.includes(directory));
    if (settled.length === 0) return;
    this.#unsynced = this.#unsynced.filter((change) => !settled.includes(change));
    for (const { removed } of settled) if (removed?.entries !== undefined) this.#settle(removed);
  }

  #change(directories: readonly Inode[], apply: () => void, undo: () => void, removed?: Inode): void {
    apply();
    this.#segments = undefined;
    this.#unsynced.push({ directories, removed, undo });
  }
}

let lastIno = 0;

const newInode = (isDirectory: boolean, mtimeMs: number): Inode => ({
  ino: (lastIno += 1),
  entries: isDirectory ? new Map() : undefined,
  content: Buffer.alloc(0),
  synced: Buffer.alloc(0),
  mtimeMs,
  space: Buffer.alloc(0),
  used: 0,
});

/** In the space behind the content, unless that is of a content which was cut or torn since. */
function extend(inode: Inode, bytes: Buffer): void {
  const { content, space } = inode;
  const length = content.length + bytes.length;
  const isLast = content.buffer === space.buffer && content.length === inode.used;
  if (!isLast || length > space.length) {
    inode.space = Buffer.alloc(2 * length);
    content.copy(inode.space);
  }
  bytes.copy(inode.space, content.length);
  inode.content = inode.space.subarray(0, length);
  inode.used = length;
}

const partsOf = (file: string) => file.split('/').filter((part) => part !== '' && part !== '.');

function listFiles(directory: Inode, at = ''): [string, Inode][] {
  return [...(directory.entries ?? [])].flatMap(([name, inode]): [string, Inode][] => {
    const file = `${at}/${name}`;
    return inode.entries === undefined ? [[file, inode]] : listFiles(inode, file);
  });
}

function tear({ content, synced }: Inode, random: Random): Buffer {
  if (content === synced) return content;
  // A truncation that was not synced may or may not be there.
  if (content.length <= synced.length) return random.chance(0.5) ? content : synced;
  const added = Buffer.from(content.subarray(synced.length, random.int(synced.length, content.length)));
  for (let at = 0; at < added.length; at += SECTOR) {
    if (random.chance(0.2)) added.fill(0, at, Math.min(added.length, at + SECTOR));
  }
  return Buffer.concat([content.subarray(0, synced.length), added]);
}

export function fail(code: SystemCode, what: string): never {
  throw Object.assign(new Error(`${code}: ${what}`), { code, syscall: what });
}
