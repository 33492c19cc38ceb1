import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { firstDay, monthOf } from '../partitions/partitioned-tables.ts';
import type { Db } from '../server/database.ts';
import { withClient } from '../server/postgres.ts';
import { run } from '../server/statement.ts';
import type { ArchivedColumn } from './archive-tables.ts';
import type { ArchivedFile } from './archived-files.ts';

/**
 * Stores archived rows in their table again, as they were, and notes with them that they are no longer in the file. They keep
 * their ids and the transaction that stored them first, so that no reader takes them for new.
 */
export async function restoreRows(
  databaseUrl: string,
  { id, table, rows }: ArchivedFile,
  columns: readonly ArchivedColumn[],
  csv: Readable,
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('begin');
    await client.query('select begin_storing()');
    const names = columns.map(({ name }) => client.escapeIdentifier(name)).join(', ');
    const storing = client.query(
      copyFrom(`copy ${client.escapeIdentifier(table)} (${names}) from stdin (format csv)`),
    );
    await pipeline(csv, storing);
    if (storing.rowCount !== rows)
      throw new Error(`the file has ${storing.rowCount} rows, but was written with ${rows}`);
    const { rowCount } = await client.query(
      `update archived_files set removed_at = now(), removed_because = 'back in the table' where id = $1 and removed_at is null`,
      [id],
    );
    if (rowCount !== 1) throw new Error('another process has already restored the file');
    await client.query('commit');
  });
}

/** Lets a month that was archived take rows again. */
export async function reopenMonth(db: Db, table: string, partition: string): Promise<void> {
  await run(db)`select reopen_month(${table}, ${firstDay(monthOf(partition))}::date)`;
}
