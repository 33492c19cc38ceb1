import { exportProof, type ProofRange } from '../../seal/export-proof.ts';
import type { Db } from '../../store/server/database.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { note } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

/** `export-proof`: writes rows and their proof to a directory. The operator log records the export. */
export async function exportRange(db: Db, directory: string, { since, until }: ProofRange): Promise<void> {
  const progress = createProgress('exported', undefined);
  const { rows, absent, checkpoints, timestamps } = await recordCommand(
    db,
    { action: 'proof.export', details: { directory, since, until } },
    () => exportProof(db, directory, { since, until }, (done) => progress.show(done)),
    (exported) => ({ ...exported }),
  );
  progress.clear();
  note(
    `${directory}: ${countOf(rows, 'row')}, ${formatCount(absent)} absent, ${countOf(checkpoints, 'checkpoint')}, ${countOf(timestamps, 'time-stamp')}`,
  );
}
