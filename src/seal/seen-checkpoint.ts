import { rename } from 'node:fs/promises';
import { replaceFile } from '../lib/files/durable-file.ts';
import { recordAction, type Operator } from '../store/access/operator-log.ts';
import type { Db } from '../store/server/database.ts';
import { readInstallation } from '../store/server/installation.ts';
import { latestCheckpoint, readSealState } from '../store/seal/seal-log.ts';
import { countOf, formatCount } from '../lib/text/units.ts';
import { UsageError } from '../lib/errors.ts';
import { originOf, parseCheckpoints } from './checkpoint.ts';
import { rootAt } from './merkle-tree.ts';
import { nodesIn } from './stored-tree.ts';
import { isSignedByKnown, readSeen, type Trust } from './trust.ts';

/**
 * Compares the log of the database with the checkpoint that this machine has seen, which neither a restored backup nor the
 * owner of the database changes. Resolves with what is wrong, as a sentence; undefined if the log contains what was seen, or
 * if nothing was.
 */
export async function compareWithSeen(db: Db, trust: Trust): Promise<string | undefined> {
  const { seen } = trust;
  if (seen === undefined) return undefined;
  const origin = originOf((await readInstallation(db)).id);
  if (seen.origin !== origin)
    return `The database belongs to another installation than the one that this machine has seen: ${seen.origin}.`;
  const { size } = await readSealState(db);
  if (size >= seen.size && (await rootAt(nodesIn(db), seen.size)).equals(seen.root)) return undefined;
  const until = `that were sealed until ${seen.time?.toISOString() ?? 'an unknown time'}`;
  if (!(await isAsSigned(db, trust))) {
    return `The log was rebuilt: it lacks the ${countOf(seen.size, 'leaf', 'leaves')} ${until}, and its content is not signed with this machine's key. The database was changed.`;
  }
  if (size < seen.size) {
    return `The database is older than what this machine has seen: its log has ${formatCount(size)} of ${countOf(seen.size, 'leaf', 'leaves')} ${until}. Everything stored in between is missing.`;
  }
  return `The database was older than what this machine had seen, and has been used since: its log lacks the ${countOf(seen.size, 'leaf', 'leaves')} ${until}. Some data stored before that time is missing.`;
}

/** Whether the tree is the one of its latest checkpoint, and a key that counts has signed that. */
async function isAsSigned(db: Db, trust: Trust): Promise<boolean> {
  const latest = await latestCheckpoint(db);
  if (latest === undefined) return (await readSealState(db)).size === 0;
  if (!isSignedByKnown(latest.note, trust)) return false;
  const [checkpoint] = parseCheckpoints(latest.note);
  const { size } = await readSealState(db);
  return (
    checkpoint !== undefined &&
    checkpoint.size <= size &&
    (await rootAt(nodesIn(db), checkpoint.size)).equals(checkpoint.root)
  );
}

/**
 * Keeps the latest checkpoint in a file, unless the log lacks what is in there: then the file stays, and this resolves with
 * what is wrong.
 */
export async function keepSeen(db: Db, file: string, trust: Trust): Promise<string | undefined> {
  const latest = await latestCheckpoint(db);
  if (latest === undefined && trust.seen === undefined) return undefined;
  if (latest !== undefined && latest.note === trust.seen?.note) return undefined;
  const wrong = await compareWithSeen(db, trust);
  if (wrong === undefined && latest !== undefined && isSignedByKnown(latest.note, trust)) {
    await replaceFile(file, latest.note);
  }
  return wrong;
}

/**
 * Goes on from a database that lacks what this machine has seen, because a person says why: the checkpoint that was seen stays
 * beside the file, and the operator log has both. Resolves with the name of the file that was kept. Throws a UsageError if
 * the database lacks nothing.
 */
export async function acceptDatabase(
  db: Db,
  file: string,
  trust: Trust,
  { operator, reason }: { readonly operator: Operator; readonly reason: string },
): Promise<string> {
  const seen = await readSeen(file);
  const wrong = await compareWithSeen(db, trust);
  if (seen === undefined || wrong === undefined) {
    throw new UsageError(
      'There is nothing to accept: the database has everything that this machine has seen.',
    );
  }
  const latest = await latestCheckpoint(db);
  const kept = `${file}.${new Date().toISOString().replaceAll(':', '')}`;
  const details = {
    reason,
    wrong,
    seen: `${seen.size} ${seen.root.toString('base64')}`,
    now: latest?.note.split('\n').slice(1, 3).join(' ') ?? '0',
  };
  await recordAction(db, { operator, action: 'integrity.accept', subject: undefined, details }, async () => {
    await rename(file, kept);
    if (latest !== undefined) await replaceFile(file, latest.note);
  });
  return kept;
}
