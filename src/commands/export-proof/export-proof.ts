import { exportProof, type ProofRange } from '../../ledger/export-proof.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { countOf, formatCount } from '../../units.ts';
import { note } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { createProgress } from '../shared/progress.ts';

/** `export-proof`: writes rows and their proof to a directory. The operator log records the export. */
export async function exportRange(db: Db, directory: string, { since, until }: ProofRange): Promise<void> {
  const progress = createProgress('exported', undefined);
  const action = {
    operator: commandOperator(),
    action: 'proof.export' as const,
    details: { directory, since, until },
  };
  const { rows, absent, checkpoints, timestamps } = await recordAction(
    db,
    action,
    () => exportProof(db, directory, { since, until }, (done) => progress.show(done)),
    (exported) => ({ ...exported }),
  );
  progress.clear();
  note(
    `${directory}: ${countOf(rows, 'row')}, ${formatCount(absent)} absent, ${countOf(checkpoints, 'checkpoint')}, ${countOf(timestamps, 'time-stamp')}`,
  );
}
