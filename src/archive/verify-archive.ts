import type { VerifyFinding } from '../seal/verify/finding.ts';
import type { ArchivedEvents } from '../seal/verify/verify-log.ts';
import { listArchivedFiles, type ArchivedFile } from '../store/archive/archived-files.ts';
import { openArchiveDatabase } from './archive-database.ts';
import { BrokenFileError, type ArchiveFiles } from './files/archive-files.ts';
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

async function* findDamaged({ db, files }: ArchiveAccess): AsyncGenerator<VerifyFinding> {
  for (const file of await listArchivedFiles(db, undefined)) {
    const problem = await problemOf(files, file);
    if (problem !== undefined) yield { subject: 'file', key: file.path, ...problem };
  }
}

async function problemOf(files: ArchiveFiles, file: ArchivedFile) {
  try {
    if ((await files.digest(file)) === file.sha256) return undefined;
    return {
      state: 'ALTERED',
      detail: `the file of ${file.rows} events is not the one that was written`,
    } as const;
  } catch (error) {
    if (!(error instanceof BrokenFileError)) throw error;
    return { state: 'MISSING', detail: `the file of ${file.rows} events ${error.reason}` } as const;
  }
}
