import type { VerifyFinding } from '../seal/verify/finding.ts';
import { describeStray, type ArchivedEvents } from '../seal/verify/verify-log.ts';
import { findStrayRows, type ArchivedFile } from '../store/archive/archived-files.ts';
import type { PoolName } from '../store/server/database.ts';
import { openArchiveDatabase } from './archive-database.ts';
import { eachArchivedFile } from './each-file.ts';
import { BrokenFileError, type ArchiveFiles } from './files/archive-files.ts';
import type { ArchiveAccess } from './read-archive.ts';

/**
 * The archived events for `verify`. Of a file that is missing or damaged, the rows are missing, and the rest is compared
 * nevertheless; the file is a finding itself, because its hash is sealed. The connections have the limits of the pool, or none.
 */
export function archivedEvents(access: ArchiveAccess, pool?: PoolName): ArchivedEvents & AsyncDisposable {
  const { db, close } = openArchiveDatabase({ ...access, onBroken: () => undefined, readsOn: true }, pool);
  return {
    events: db,
    findDifferences: () => findDifferences(access),
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

async function* findDifferences(access: ArchiveAccess): AsyncGenerator<VerifyFinding> {
  for await (const { file, events } of eachArchivedFile(access)) {
    const problem = await problemOf(access.files, file);
    if (problem !== undefined) yield { subject: 'file', key: file.path, ...problem };
    else
      for (const event of await findStrayRows(events, file))
        yield describeStray(event, `the file ${file.path} contains it, and it`);
  }
}

async function problemOf(files: ArchiveFiles, file: ArchivedFile) {
  try {
    if ((await files.digest(file)) === file.sha256) return undefined;
    return {
      state: 'ALTERED',
      detail: `the file of ${file.rows} events differs from the one that was written`,
    } as const;
  } catch (error) {
    if (!(error instanceof BrokenFileError)) throw error;
    return { state: 'MISSING', detail: `the file of ${file.rows} events ${error.reason}` } as const;
  }
}
