import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { SERVICE } from '../store/access/operator-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import { formatBytes } from '../lib/text/units.ts';
import { dropExpiredFiles } from '../store/archive/expire-files.ts';
import { hasRows, NotArchivedError } from '../store/archive/archive-partition.ts';
import {
  endsBefore,
  listPartitions,
  oldestKept,
  PARTITIONED,
  addMonths,
} from '../store/partitions/partitioned-tables.ts';
import type { Db } from '../store/server/database.ts';
import { archiveMonth, type ArchivableMonth } from './archive-month.ts';
import { deleteRemoved } from './delete-removed.ts';
import type { ArchiveAccess } from './read-archive.ts';

/** The months of events before this one that have events, oldest first. */
export async function monthsBefore(db: Db, month: Date): Promise<readonly ArchivableMonth[]> {
  const months: ArchivableMonth[] = [];
  for (const table of PARTITIONED) {
    if (table.keep === 'deliveries') continue;
    for (const partition of await listPartitions(db, table)) {
      // An adopted database may have one of all months up to its last.
      const isMonth = partition.startsWith(`${table.name}_2`);
      if (isMonth && endsBefore(partition, month) && (await hasRows(db, partition)))
        months.push({ table, partition });
    }
  }
  return months.toSorted((a, b) => (a.partition.slice(-7) < b.partition.slice(-7) ? -1 : 1));
}

const INTERVAL_MS = 60 * 60 * 1000;

/** Archives months that are old enough, and deletes files that mean nothing any more, such as those of events that have passed their retention: now and every hour. */
export function startArchiving(
  access: ArchiveAccess,
  /** The settings in force. */
  config: Pick<Config, 'archive' | 'retentionMonths'>,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  const stopping = new AbortController();
  const work = async () => {
    await endExpired(access, config, logger);
    const problems = await deleteRemoved(access);
    if (problems.length > 0) logger.warn({ problems }, 'archived files were not deleted');
    const { afterMonths } = config.archive;
    if (afterMonths === undefined) return;
    for (const month of await monthsBefore(access.db, addMonths(new Date(), -afterMonths))) {
      if (stopping.signal.aborted) return;
      await archiveLogged(access, month, logger);
    }
  };
  const failure = 'a month was not archived';
  repeatInBackground(
    { part: 'archive', failure, level: 'error', pauseMs: INTERVAL_MS, work, stopping },
    logger,
    started,
  );
}

async function archiveLogged(access: ArchiveAccess, month: ArchivableMonth, logger: Logger): Promise<void> {
  try {
    const { partition, rows, bytes, tableBytes } = await archiveMonth(access, month, SERVICE);
    logger.info(
      { partition, rows, bytes },
      `archived ${partition}: ${formatBytes(tableBytes)} became ${formatBytes(bytes)}`,
    );
  } catch (error) {
    if (!(error instanceof NotArchivedError)) throw error;
    logger.warn({ partition: month.partition }, error.message);
  }
}

async function endExpired(
  { db }: ArchiveAccess,
  { retentionMonths }: Pick<Config, 'retentionMonths'>,
  logger: Logger,
) {
  for (const table of PARTITIONED) {
    const oldest = oldestKept(new Date(), retentionMonths[table.keep]);
    if (table.keep === 'deliveries' || oldest === undefined) continue;
    const files = await dropExpiredFiles(db, table, oldest);
    if (files > 0) logger.info({ files, table: table.name }, 'retention ended archived files');
  }
}
