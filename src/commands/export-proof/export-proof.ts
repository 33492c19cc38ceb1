import type { Config } from '../../config/config.ts';
import { UsageError } from '../../lib/errors.ts';
import { logKeyFileOf, readLogKeys } from '../../seal/log-key.ts';
import { exportProof } from '../../seal/export-proof.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import type { Db } from '../../store/server/database.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { note } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

/** `export-proof`: writes rows and their proof to a directory. The operator log records the export. */
export async function exportRange(
  db: Db,
  config: Pick<Config, 'dataDir' | 'logKeyFile'>,
  directory: string,
  { since, until, withFindings }: TimeRange & { readonly withFindings: boolean },
): Promise<void> {
  const file = logKeyFileOf(config);
  const { signing: key, verifiers: keys } = await readLogKeys(file);
  if (key === undefined) {
    throw new UsageError(
      `${file} does not contain the log's key, which signs the export. Run this on a machine that stores events, or set LOG_KEY_FILE.`,
    );
  }
  const options = { key, trust: { keys }, withFindings, since, until };
  const progress = createProgress('exported', undefined);
  const { rows, absent, checkpoints, timestamps, findings } = await recordCommand(
    db,
    { action: 'proof.export', details: { directory, since, until } },
    () => exportProof(db, directory, options, (done) => progress.show(done)),
    (exported) => ({ ...exported }),
  );
  progress.clear();
  note(
    `${directory}: ${countOf(rows, 'row')}, ${formatCount(absent)} absent, ${countOf(checkpoints, 'checkpoint')}, ${countOf(timestamps, 'time-stamp')}`,
  );
  if (findings > 0) note(`DIFFERS FROM THE SEAL: verify ${directory} has ${countOf(findings, 'finding')}.`);
}
