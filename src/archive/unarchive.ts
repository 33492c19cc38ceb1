import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { reopenMonth, restoreRows } from '../store/archive/restore-rows.ts';
import { readColumns } from '../store/archive/archive-tables.ts';
import type { ArchivedFile } from '../store/archive/archived-files.ts';
import { MonthsOnDemand } from '../store/partitions/months-on-demand.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import { literal } from './engine.ts';
import { filesAsTable, printed } from './file-format.ts';
import { BrokenFileError } from './files/archive-files.ts';
import { namingFullDisk } from './files/full-disk.ts';
import { sha256Of } from '../lib/files/sha256.ts';
import type { ArchiveAccess } from './read-archive.ts';

/**
 * Brings the events of files back into the database, one file after the other, each in a transaction from which on its events
 * are in the table again. Calls back after each. The files stay until `deleteRemoved`. Throws an Error if a file is not the one that was written: nothing of it comes
 * back then.
 */
export async function restoreFiles(
  access: ArchiveAccess,
  files: readonly ArchivedFile[],
  onRestored: (file: ArchivedFile) => void = () => undefined,
): Promise<void> {
  const months = new MonthsOnDemand();
  for (const file of files) {
    const partition = `${file.table}_${file.firstAt.toISOString().slice(0, 7).replace('-', '_')}`;
    await months.create(access.db, new Set([partition]));
    await reopenMonth(access.db, file.table, partition);
    await restoreFile(access, file);
    onRestored(file);
  }
}

async function restoreFile(
  { db, databaseUrl, files, engine }: ArchiveAccess,
  file: ArchivedFile,
): Promise<void> {
  await using used = await files.use([file]);
  for (const archived of used.paths)
    if ((await sha256Of(archived)) !== file.sha256)
      throw new BrokenFileError(archived, 'differs from the file that was written');
  const columns = await readColumns(db, file.table);
  const csv = path.join(files.directory, '.reading', `${file.id}.csv`);
  await makePrivateDirectory(path.dirname(csv));
  const rows = filesAsTable(used.paths, columns);
  try {
    await namingFullDisk(files.directory, () =>
      engine.run(
        `copy (select ${printed(columns).join(', ')} from ${rows}) to ${literal(csv)} (format csv, header false, force_quote *)`,
      ),
    );
    await restoreRows(databaseUrl, file, columns, createReadStream(csv));
  } finally {
    await rm(csv, { force: true });
  }
}
