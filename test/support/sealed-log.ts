import path from 'node:path';
import type { Checkpoint } from '../../src/seal/checkpoint.ts';
import { keepLogKey } from '../../src/seal/log-key.ts';
import { createSealer, type Sealer } from '../../src/seal/sealer.ts';
import type { LogKey } from '../../src/seal/signed-note.ts';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { verifyLog, type VerifyOptions } from '../../src/seal/verify/verify-log.ts';
import { latestCheckpoint } from '../../src/store/seal/seal-log.ts';
import type { Db } from '../../src/store/server/database.ts';
import { readInstallation } from '../../src/store/server/installation.ts';
import { temporaryDirectory } from './program.ts';
import { untilSeen } from './until-seen.ts';
import { knowing } from './trust.ts';

/** The log of a database, with a key in a directory of its own. */
export interface SealedLog {
  readonly directory: string;
  readonly keyFile: string;
  readonly key: LogKey;
  /** A sealer that has not sealed anything yet. */
  sealer(): Sealer;
  /** Seals everything that is stored, and signs a checkpoint of it. Returns the latest checkpoint. */
  seal(): Promise<{ readonly size: number; readonly note: string }>;
  /** Verifies everything, and returns all that is found. */
  verify(options?: Partial<VerifyOptions>): Promise<{
    readonly summary: Awaited<ReturnType<typeof verifyLog>>;
    readonly findings: readonly VerifyFinding[];
  }>;
}

/** With `anchors`, the log is verified against these checkpoints, unless a test gives others. */
export async function openSealedLog(
  service: Db,
  anchors: () => readonly Checkpoint[] = () => [],
): Promise<SealedLog> {
  const directory = await temporaryDirectory();
  const keyFile = path.join(directory, 'log-key');
  const key = await keepLogKey(keyFile, (await readInstallation(service)).id, undefined);
  const trust = knowing(key);
  const sealer = () => createSealer(service, key, async () => trust);
  return {
    directory,
    keyFile,
    key,
    sealer,
    async seal() {
      await untilSeen(service);
      const sealing = sealer();
      while ((await sealing.seal()) === 'more');
      await sealing.checkpoint();
      return (await latestCheckpoint(service)) ?? { size: 0, note: '' };
    },
    async verify(options = {}) {
      const findings: VerifyFinding[] = [];
      const summary = await verifyLog(
        service,
        { anchors: anchors(), trust, ...options },
        (finding) => findings.push(finding),
        () => undefined,
      );
      return { summary, findings };
    },
  };
}
