import { readFile, rename, writeFile } from 'node:fs/promises';
import { isMissingFile } from '../lib/files/durable-file.ts';
import type { Db } from '../store/server/database.ts';
import { readInstallation } from '../store/server/installation.ts';
import { latestCheckpoint, readSealState } from '../store/seal/seal-log.ts';
import { countOf, formatCount } from '../lib/text/units.ts';
import { parseCheckpoints, type Checkpoint } from './checkpoint.ts';
import { rootAt } from './merkle-tree.ts';
import { nodesIn } from './stored-tree.ts';

/** The file of the data directory with the latest checkpoint that this installation has seen. */
export const SEEN_FILE = 'log-checkpoint';

/**
 * Compares the log of the database with the checkpoint in a file, which a restored backup does not change. Resolves with
 * what is wrong, as a sentence; undefined if the log contains what was seen, or if nothing was.
 */
export async function compareWithSeen(db: Db, file: string): Promise<string | undefined> {
  const seen = await readSeen(file);
  if (seen === undefined) return undefined;
  const origin = `xiq-sink/${(await readInstallation(db)).id}`;
  if (seen.origin !== origin) return `The database is of another installation than ${file}: ${seen.origin}.`;
  const { size } = await readSealState(db);
  const until = seen.time?.toISOString() ?? 'an unknown time';
  if (size < seen.size) {
    return `The database is older than what this installation has seen: its log has ${formatCount(size)} of ${countOf(seen.size, 'leaf', 'leaves')} that were sealed until ${until}. What was stored in between is missing.`;
  }
  const root = await rootAt(nodesIn(db), seen.size);
  if (root.equals(seen.root)) return undefined;
  return `The database was older than what this installation had seen, and went on: its log is not the one that was sealed until ${until}. What was stored before that time is missing in part.`;
}

/**
 * Keeps the latest checkpoint in a file, unless the log lacks what is in there: then the file stays, and this resolves with
 * what is wrong.
 */
export async function keepSeen(db: Db, file: string): Promise<string | undefined> {
  const latest = await latestCheckpoint(db);
  const seen = await readSeen(file);
  if (latest === undefined && seen === undefined) return undefined;
  if (latest !== undefined && latest.note === seen?.note) return undefined;
  const wrong = await compareWithSeen(db, file);
  if (wrong === undefined && latest !== undefined) {
    await writeFile(`${file}.new`, latest.note, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  return wrong;
}

async function readSeen(file: string): Promise<Checkpoint | undefined> {
  try {
    return parseCheckpoints(await readFile(file, 'utf8'))[0];
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw new Error(`${file} cannot be read`, { cause: error });
  }
}
