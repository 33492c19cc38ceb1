import { openArchiveFiles } from '../../archive/files/open-files.ts';
import type { Config } from '../../config/config.ts';
import { countOf, formatBytes } from '../../lib/text/units.ts';
import { listArchivedFiles } from '../../store/archive/archived-files.ts';
import type { Db } from '../../store/server/database.ts';
import { fail, ok, type Finding } from './check.ts';

/** Whether the files that have the only copy of events are where this process looks for them. */
export async function checkArchive(db: Db, { archive }: Pick<Config, 'archive'>): Promise<Finding> {
  const files = await listArchivedFiles(db, undefined);
  const place = openArchiveFiles(archive);
  // With a bucket, whether it can be reached, even before it has a file.
  const stored = await place.sizes();
  if (files.length === 0) return ok('nothing is archived');
  const wrong = files.filter(({ path, bytes }) => stored.get(path) !== bytes).map(({ path }) => path);
  if (wrong.length > 0) {
    return fail(
      `${countOf(wrong.length, 'file')} of ${files.length} missing or damaged in ${place.where}, such as ${wrong[0]}`,
      'set ARCHIVE_DIR or ARCHIVE_S3 to the place of the archive, or restore the files from a copy (docs/archive.md#backup)',
    );
  }
  const sum = (of: (file: (typeof files)[number]) => number) =>
    files.reduce((all, file) => all + of(file), 0);
  const sizes = `${formatBytes(sum(({ bytes }) => bytes))} instead of ${formatBytes(sum(({ tableBytes }) => tableBytes))}`;
  return ok(
    `${countOf(
      sum(({ rows }) => rows),
      'event',
    )} in ${countOf(files.length, 'file')}, all present with the right size (verify compares the rows): ${sizes}`,
  );
}
