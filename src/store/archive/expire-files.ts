import { recordEnded, SERVICE } from '../access/operator-log.ts';
import { partitionName, type PartitionedTable } from '../partitions/partitioned-tables.ts';
import { isLate, recordDropped } from '../reconcile/gaps.ts';
import type { Db } from '../server/database.ts';
import { listArchivedFiles, markExpired } from './archived-files.ts';

/**
 * Ends the files of a table whose months are before `oldest`, and records each month as retention does that drops a live one.
 * Returns their number: the files mean nothing from then on.
 */
export async function dropExpiredFiles(db: Db, table: PartitionedTable, oldest: Date): Promise<number> {
  const files = (await listArchivedFiles(db, table.name)).filter(({ lastAt }) => lastAt < oldest);
  const months = Map.groupBy(files, ({ lastAt }) => partitionName(table, lastAt));
  for (const [partition, ofMonth] of months) {
    await db.transaction().execute(async (trx) => {
      await markExpired(
        trx,
        ofMonth.map(({ id }) => id),
      );
      const hasLate = ofMonth.some(({ lastReceivedAt }) => isLate(partition, lastReceivedAt));
      await recordDropped(trx, table, partition, hasLate);
      const bytes = ofMonth.reduce((sum, file) => sum + file.bytes, 0);
      const details = { retention: table.keep, archived_files: ofMonth.length, bytes };
      await recordEnded(trx, {
        operator: SERVICE,
        action: 'retention.drop',
        subject: partition,
        details,
      });
    });
  }
  return files.length;
}
