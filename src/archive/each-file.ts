import { listArchivedFiles, type ArchivedFile } from '../store/archive/archived-files.ts';
import type { Db } from '../store/server/database.ts';
import { openArchiveDatabase } from './archive-database.ts';
import type { ArchiveAccess } from './read-archive.ts';

/**
 * The files of the archive one after the other, each with a database that has the events of this file alone: for questions that
 * no column answers, and that read everything.
 */
export async function* eachArchivedFile(
  access: ArchiveAccess,
): AsyncGenerator<{ readonly file: ArchivedFile; readonly events: Db }> {
  const instead: NonNullable<ArchiveAccess['instead']> = { files: [] };
  const { db: events, close } = openArchiveDatabase({ ...access, instead });
  try {
    for (const file of await listArchivedFiles(access.db, undefined)) {
      instead.files = [file];
      yield { file, events };
    }
  } finally {
    await close();
  }
}
