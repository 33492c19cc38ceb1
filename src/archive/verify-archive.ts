import path from 'node:path';
import { describeError } from '../lib/errors.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import type { VerifyFinding } from '../seal/verify/finding.ts';
import type { ArchivedEvents } from '../seal/verify/verify-log.ts';
import { listArchivedFiles, type ArchivedFile } from '../store/archive/archived-files.ts';
import { sha256Of } from './archive-month.ts';
import { openArchiveDatabase } from './archive-database.ts';
import type { ArchiveAccess } from './read-archive.ts';

/**
 * The archived events for `verify`. Of a file that is missing or damaged, the rows are missing, and the rest is compared
 * nevertheless; the file is a finding itself, because its hash is sealed.
 */
export function archivedEvents(access: ArchiveAccess): ArchivedEvents & AsyncDisposable {
  const { db, close } = openArchiveDatabase({ ...access, onBroken: () => undefined, readsOn: true });
  return {
    events: db,
    findDamaged: () => findDamaged(access),
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

async function* findDamaged({ db, directory }: ArchiveAccess): AsyncGenerator<VerifyFinding> {
  for (const file of await listArchivedFiles(db, undefined)) {
    const problem = await problemOf(path.join(directory, file.path), file);
    if (problem !== undefined) yield { subject: 'file', key: file.path, ...problem };
  }
}

async function problemOf(file: string, { sha256, rows }: ArchivedFile) {
  try {
    if ((await sha256Of(file)) === sha256) return undefined;
    return {
      state: 'ALTERED',
      detail: `the file of ${rows} events is not the one that was written`,
    } as const;
  } catch (error) {
    const reason = isMissingFile(error) ? 'is gone' : `cannot be read (${describeError(error)})`;
    return { state: 'MISSING', detail: `the file of ${rows} events ${reason}` } as const;
  }
}
