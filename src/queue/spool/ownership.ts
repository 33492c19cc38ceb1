import { mkdir, readdir, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { isNotThere } from '../../durable-file.ts';

/**
 * Several processes may share one spool: containers of one service on one volume, or a program and the predecessor
 * whose spool it finds. Each writes into a directory of its own, and says by the time of a file in it that it
 * lives. When it no longer does, another one takes its segments over by renaming them. That is right even when
 * the owner was only asleep: its writer notices (segment-writer.ts), and what is replayed twice is stored once.
 */
export interface OwnDirectory {
  readonly path: string;
  /** Makes the directory, if it is not there. Throws the system's error when it cannot be made. */
  ensure(): Promise<void>;
  /** Moves the segments of processes that are gone into this directory. Gives their names. */
  adopt(): Promise<string[]>;
  /** Gives the directory up: it is removed when it is empty, and may be taken over at once when it is not. */
  release(): Promise<void>;
}

export const SEGMENT_SUFFIX = '.segment';

/** Of a file beside the directories, with what was damaged in a segment. */
export const CORRUPT_SUFFIX = '.corrupt';

const OWNER_FILE = 'owner';

/** The owner says that it lives this often, and is taken for dead when it has not done so for the longer time. */
const SIGN_OF_LIFE_INTERVAL_MS = 2_000;
const DEAD_AFTER_MS = 10_000;

/** Names of segments sort by the time they were made. */
export const newSegmentName = () => `${uuidv7()}${SEGMENT_SUFFIX}`;

/** When a segment was made, in epoch milliseconds (RFC 9562, section 5.7: the first 48 bits of its UUIDv7). */
export const segmentMadeAt = (name: string) => Number.parseInt(name.slice(0, 13).replace('-', ''), 16);

/** Makes this process the owner of a new directory in the spool. Nothing is written before `ensure`. */
export function ownDirectory(root: string): OwnDirectory {
  const own = path.join(root, uuidv7());
  const ownerFile = path.join(own, OWNER_FILE);
  const signOfLife = setInterval(() => {
    const now = new Date();
    utimes(ownerFile, now, now).catch(() => undefined);
  }, SIGN_OF_LIFE_INTERVAL_MS);
  signOfLife.unref();

  async function ensure(): Promise<void> {
    await mkdir(own, { recursive: true, mode: 0o700 });
    await writeFile(ownerFile, `${process.pid}\n`, { mode: 0o600 });
  }

  return {
    path: own,
    ensure,
    async adopt() {
      const adopted: string[] = [];
      for (const entry of await directoriesIn(root)) {
        const other = path.join(root, entry);
        if (other === own || !(await isAbandoned(other))) continue;
        await ensure();
        adopted.push(...(await moveSegments(other, own)));
        await rm(path.join(other, OWNER_FILE), { force: true });
        await rmdir(other).catch(() => undefined);
      }
      return adopted;
    },
    async release() {
      clearInterval(signOfLife);
      const longAgo = new Date(0);
      await utimes(ownerFile, longAgo, longAgo).catch(() => undefined);
      if ((await segmentsIn(own)).length > 0) return;
      await rm(ownerFile, { force: true });
      await rmdir(own).catch(() => undefined);
    },
  };
}

async function moveSegments(from: string, to: string): Promise<string[]> {
  const moved: string[] = [];
  for (const name of await segmentsIn(from)) {
    try {
      await rename(path.join(from, name), path.join(to, name));
      moved.push(name);
    } catch (error) {
      // Another process was faster.
      if (!isNotThere(error)) throw error;
    }
  }
  return moved;
}

/** A clock that was set back or forth makes a sign of life look as far away as an old one: at worst it is taken for dead. */
async function isAbandoned(directory: string): Promise<boolean> {
  const signOfLife = (await modifiedAt(path.join(directory, OWNER_FILE))) ?? (await modifiedAt(directory));
  return signOfLife !== undefined && Math.abs(Date.now() - signOfLife) > DEAD_AFTER_MS;
}

async function modifiedAt(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).mtimeMs;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

async function directoriesIn(root: string): Promise<string[]> {
  const entries = await listing(root);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function segmentsIn(directory: string): Promise<string[]> {
  const entries = await listing(directory);
  return entries.map(({ name }) => name).filter((name) => name.endsWith(SEGMENT_SUFFIX));
}

async function listing(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (isNotThere(error)) return [];
    throw error;
  }
}
