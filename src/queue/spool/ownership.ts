import { mkdir, readdir, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { makePrivateDirectory } from '../../lib/files/private-directory.ts';
import { syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';

export const SEGMENT_SUFFIX = '.segment';

/** The suffix of a file next to the directories that contains the damaged parts of a segment. */
export const CORRUPT_SUFFIX = '.corrupt';

const OWNER_FILE = 'owner';

/** The interval of the owner's heartbeat, and the time without one after which the owner is considered dead. */
const HEARTBEAT_INTERVAL_MS = 2_000;
const DEAD_AFTER_MS = 10_000;

/** Names of segments sort by the time of their creation. */
export const newSegmentName = () => `${uuidv7()}${SEGMENT_SUFFIX}`;

/** When a segment was created, in epoch milliseconds (RFC 9562, section 5.7: the first 48 bits of its UUIDv7). */
export const segmentMadeAt = (name: string) => Number.parseInt(name.slice(0, 13).replace('-', ''), 16);

/**
 * Makes this process the owner of a new directory in the spool. Nothing is written before `ensure`. Only directories with
 * the same prefix are taken over.
 */
export function ownDirectory(root: string, prefix = '') {
  const own = path.join(root, prefix + uuidv7());
  const ownerFile = path.join(own, OWNER_FILE);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(ownerFile, now, now).catch(() => undefined);
  }, HEARTBEAT_INTERVAL_MS);
  heartbeat.unref();

  async function ensure(): Promise<void> {
    await makePrivateDirectory(path.dirname(root));
    await mkdir(own, { recursive: true, mode: 0o700 });
    await writeFile(ownerFile, `${process.pid}\n`, { mode: 0o600 });
    // The directories above must be durable, too, whichever process has just created them.
    for (const directory of [root, path.dirname(root)]) await syncDirectory(directory);
  }

  return {
    path: own,
    /** Creates the directory if it does not exist. Throws the system's error if that fails. */
    ensure,
    /**
     * Moves the segments of processes that have ended into this directory, and yields each as soon as it is here: if the
     * disk fails at the next one, nobody else looks for it.
     */
    async *adopt(): AsyncGenerator<{ readonly name: string; readonly bytes: number }> {
      for (const entry of await directoriesIn(root)) {
        if (!isUuid(entry.slice(prefix.length))) continue;
        const other = path.join(root, entry);
        if (other === own || !(await isAbandoned(other))) continue;
        await ensure();
        yield* moveSegments(other, own);
        await rm(path.join(other, OWNER_FILE), { force: true });
        await rmdir(other).catch(() => undefined);
      }
    },
    /** Releases the directory: an empty one is removed, any other may be taken over at once. */
    async release(): Promise<void> {
      clearInterval(heartbeat);
      const longAgo = new Date(0);
      await utimes(ownerFile, longAgo, longAgo).catch(() => undefined);
      if ((await segmentsIn(own)).length > 0) return;
      await rm(ownerFile, { force: true });
      await rmdir(own).catch(() => undefined);
    },
  };
}

async function* moveSegments(from: string, to: string) {
  for (const name of await segmentsIn(from)) {
    const move = async () => {
      const { size } = await stat(path.join(from, name));
      await rename(path.join(from, name), path.join(to, name));
      return { name, bytes: size };
    };
    // If it is missing, another process was faster.
    const moved = await unlessMissing(move(), undefined);
    if (moved !== undefined) yield moved;
  }
}

/** If the clock was changed, a fresh heartbeat may look old: at worst a living process is considered dead. */
async function isAbandoned(directory: string): Promise<boolean> {
  const heartbeat = (await modifiedAt(path.join(directory, OWNER_FILE))) ?? (await modifiedAt(directory));
  return heartbeat !== undefined && Math.abs(Date.now() - heartbeat) > DEAD_AFTER_MS;
}

const modifiedAt = async (file: string) => (await unlessMissing(stat(file), undefined))?.mtimeMs;

async function directoriesIn(root: string): Promise<string[]> {
  const entries = await listing(root);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function segmentsIn(directory: string): Promise<string[]> {
  const entries = await listing(directory);
  return entries.map(({ name }) => name).filter((name) => name.endsWith(SEGMENT_SUFFIX));
}

const listing = (directory: string) => unlessMissing(readdir(directory, { withFileTypes: true }), []);

export type SpoolBudget = ReturnType<typeof createSpoolBudget>;

/** The bytes that several spools may have together. */
export function createSpoolBudget(maxBytes: number) {
  const spools: (() => number)[] = [];
  return {
    /** Counts what another spool has from now on. */
    count: (bytes: () => number) => void spools.push(bytes),
    left: () => spools.reduce((left, bytes) => left - bytes(), maxBytes),
  };
}
