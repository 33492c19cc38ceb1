import path from 'node:path';
import { commandName } from '../../command-name.ts';
import { compareWithSeen, SEEN_FILE } from '../../ledger/seen-checkpoint.ts';
import { statusOfSeal, type SealWord } from '../../status.ts';
import { readSealFacts } from '../../store/verifications.ts';
import { countOf } from '../../units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database.ts';

/** Checks that the log is sealed, and that it contains what was seen, and that the places outside of the database have its checkpoints. */
export async function checkSeal(access: DatabaseAccess, dataDir: string): Promise<Finding> {
  const { db } = access.opened();
  const wrong = await compareWithSeen(db, path.join(dataDir, SEEN_FILE));
  if (wrong !== undefined) return fail(wrong, 'see "An older database" in docs/backup.md');
  const facts = await readSealFacts(db);
  const { level, word, what } = statusOfSeal(facts, new Date());
  const { checkpoint } = facts;
  const told =
    checkpoint === undefined
      ? what
      : `${what}; ${countOf(checkpoint.size, 'leaf', 'leaves')} signed with ${checkpoint.publicKey}`;
  if (level === 'good') return ok(told);
  return (level === 'bad' ? fail : warn)(told, remedyOf(word));
}

/** What to do, as a command. */
function remedyOf(word: SealWord): string {
  switch (word) {
    case 'altered':
    case 'missing':
      return `run ${commandName()} verify to see which`;
    case 'not anchored':
      return 'checkpoints are not kept there: see docs/integrity.md; it is tried again every minute';
    case 'not sealed':
    case 'behind':
    case 'sealed':
      return `run ${commandName()} serve with the role all or worker`;
  }
}
