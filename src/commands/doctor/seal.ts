import path from 'node:path';
import { commandName } from '../../command-name.ts';
import { compareWithSeen, SEEN_FILE } from '../../ledger/seen-checkpoint.ts';
import { readAnchors } from '../../store/anchors.ts';
import { latestCheckpoint } from '../../store/seal-log.ts';
import { readVerified } from '../../store/verifications.ts';
import { countOf, formatCount } from '../../units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** Checks that the log is sealed, and that it contains what was seen, and that the places outside of the database have its checkpoints. */
export async function checkSeal(access: DatabaseAccess, dataDir: string): Promise<Finding> {
  const { db } = access.opened();
  const wrong = await compareWithSeen(db, path.join(dataDir, SEEN_FILE));
  if (wrong !== undefined) return fail(wrong, 'see "An older database" in docs/backup.md');
  const latest = await latestCheckpoint(db);
  if (latest === undefined) {
    return warn('the log is not sealed yet', `run ${commandName()} serve with the role all or worker`);
  }
  const { size, madeAt, publicKey } = latest;
  const sealed = `${countOf(size, 'leaf', 'leaves')} at ${madeAt.toISOString()}, signed with ${publicKey}`;
  const verified = await readVerified(db);
  if (verified.altered + verified.missing > 0) {
    return fail(
      `${countOf(verified.missing, 'row')} missing and ${formatCount(verified.altered)} altered of ${countOf(verified.leaves, 'leaf', 'leaves')}`,
      `run ${commandName()} verify to see which`,
    );
  }
  const failing = (await readAnchors(db)).filter(({ error }) => error !== null);
  if (failing.length === 0) {
    const since =
      verified.since === undefined ? '' : `; all rows compared since ${verified.since.toISOString()}`;
    return ok(`${sealed}${since}`);
  }
  return warn(
    [sealed, ...failing.map(({ anchor, error }) => `${anchor}: ${error}`)].join('; '),
    'checkpoints are not kept there: see docs/integrity.md; it is tried again every minute',
  );
}
