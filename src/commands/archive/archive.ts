import { archiveMonth, type ArchivedMonth } from '../../archive/archive-month.ts';
import { NotArchivedError } from '../../store/archive/archive-partition.ts';
import { monthsBefore } from '../../archive/archive-in-turn.ts';
import { deleteRemoved } from '../../archive/delete-removed.ts';
import type { ArchiveAccess } from '../../archive/read-archive.ts';
import { restoreFiles } from '../../archive/unarchive.ts';
import { UsageError } from '../../lib/errors.ts';
import type { MonthRange } from '../../lib/text/parse-time.ts';
import { countOf, formatBytes, formatCount } from '../../lib/text/units.ts';
import { sizeOfPartition } from '../../store/partitions/partitioned-tables.ts';
import { listArchivedFiles } from '../../store/archive/archived-files.ts';
import { addMonths } from '../../store/partitions/partitioned-tables.ts';
import { note, print, printRows } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

interface ArchiveOptions {
  readonly before: Date;
  readonly isDryRun: boolean;
  readonly asJson: boolean;
}

/** Every retention keeps the last two months in the database, and late events come for them. */
const KEPT_MONTHS = 2;

/** `archive`: archives the months before another one, or lists them. Resolves with whether all of them are archived. */
export async function archive(
  access: ArchiveAccess,
  { before, isDryRun, asJson }: ArchiveOptions,
): Promise<boolean> {
  const latest = addMonths(new Date(), 1 - KEPT_MONTHS);
  if (before > latest) {
    throw new UsageError(
      `--before must be ${latest.toISOString().slice(0, 7)} or earlier: the last two months stay in the database.`,
    );
  }
  const months = await monthsBefore(access.db, before);
  if (isDryRun) {
    await printMonths(
      access,
      months.map(({ partition }) => partition),
      asJson,
    );
    return true;
  }
  const archived: ArchivedMonth[] = [];
  for (const month of months) {
    const done = await archiveShown(access, month);
    if (done !== undefined) archived.push(done);
  }
  if (asJson) await printRows(archived, {}, true);
  else if (months.length === 0) print('There is nothing to archive.');
  return archived.length === months.length;
}

async function archiveShown(
  access: ArchiveAccess,
  month: Parameters<typeof archiveMonth>[1],
): Promise<ArchivedMonth | undefined> {
  let progress: { readonly step: string; readonly bar: ReturnType<typeof createProgress> } | undefined;
  const onProgress = (step: string, done: number, rows: number) => {
    if (progress?.step !== step) {
      progress?.bar.clear();
      progress = { step, bar: createProgress(`${month.partition}: ${step}`, rows) };
    }
    progress.bar.show(done);
  };
  try {
    const done = await archiveMonth(access, month, commandOperator(), onProgress);
    progress?.bar.clear();
    note(
      `${done.partition}: ${countOf(done.rows, 'event')} in ${countOf(done.files, 'file')}, ${formatBytes(done.tableBytes)} became ${formatBytes(done.bytes)}`,
    );
    return done;
  } catch (error) {
    progress?.bar.clear();
    if (!(error instanceof NotArchivedError)) throw error;
    note(error.message);
    return undefined;
  }
}

async function printMonths(
  { db }: ArchiveAccess,
  partitions: readonly string[],
  asJson: boolean,
): Promise<void> {
  const months = await Promise.all(
    partitions.map(async (partition) => ({ partition, ...(await sizeOfPartition(db, partition)) })),
  );
  const columns = {
    month: ({ partition }: (typeof months)[number]) => partition,
    'events (estimated)': ({ rows }: (typeof months)[number]) => (rows === null ? null : formatCount(rows)),
    size: ({ bytes }: (typeof months)[number]) => formatBytes(bytes),
  };
  await printRows(months, columns, asJson);
}

/** `unarchive`: brings a month of all tables back. */
export async function unarchive(access: ArchiveAccess, { since, until, month }: MonthRange): Promise<void> {
  const listed = await listArchivedFiles(access.db, undefined, { since, until });
  const files = listed.filter(({ firstAt }) => firstAt >= since && firstAt < until);
  if (files.length === 0) throw new UsageError(`No events of ${month} are archived.`);
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  using progress = createProgress('brought back', rows);
  let done = 0;
  await recordCommand(
    access.db,
    { action: 'archive.restore', subject: month, details: { rows, files: files.length } },
    () =>
      restoreFiles(access, files, (file) => {
        done += file.rows;
        progress.show(done);
      }),
  );
  progress.clear();
  for (const problem of await deleteRemoved(access)) note(`not deleted: ${problem}`);
  print(`${countOf(rows, 'event')} of ${month} ${rows === 1 ? 'is' : 'are'} in the database again`);
}
