import { sql } from 'kysely';
import type { MessageType } from '../../events/domain.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { findStrayEvents } from '../seal/read-seals.ts';
import type { Db, Trx } from '../server/database.ts';
import { ALL_SOURCES } from '../server/scope.ts';

/** Which rows files are looked for by: the times, inclusive, and the values that they must have; undefined: any. */
export interface Within extends TimeRange {
  readonly source?: readonly string[] | undefined;
  readonly message_type?: readonly string[] | undefined;
}

export type ArchivedFile = Awaited<ReturnType<typeof listArchivedFiles>>[number];

const inUse = (db: Db) =>
  db.selectFrom('archived_files').where('archived_at', 'is not', null).where('removed_at', 'is', null);

/** The files that have the only copy of events of a table, in the order of their times. */
export async function listArchivedFiles(db: Db, table: string | undefined, within: Within = {}) {
  const { since, until, source, message_type: messageType } = within;
  let query = inUse(db)
    .select(['id', 'path', 'family_table as table', 'source', 'message_type as messageType', 'sha256'])
    .select((eb) => [
      eb.cast<number>('row_count', 'float8').as('rows'),
      eb.cast<number>('bytes', 'float8').as('bytes'),
      eb.cast<number>('table_bytes', 'float8').as('tableBytes'),
    ])
    .select(['first_at as firstAt', 'last_at as lastAt', 'last_received_at as lastReceivedAt'])
    .orderBy('first_at')
    .orderBy('id');
  if (table !== undefined) query = query.where('family_table', '=', table);
  if (since !== undefined) query = query.where('last_at', '>=', since);
  if (until !== undefined) query = query.where('first_at', '<=', until);
  if (source !== undefined) query = query.where('source', '=', (eb) => eb.fn.any(eb.val([...source])));
  if (messageType !== undefined)
    query = query.where(sql<string>`message_type`, '=', (eb) => eb.fn.any(eb.val([...messageType])));
  return query.execute();
}

/** What is known of a file before it is read. */
export type ReadableFile = Pick<
  ArchivedFile,
  'table' | 'path' | 'source' | 'messageType' | 'rows' | 'bytes' | 'sha256' | 'firstAt' | 'lastAt'
>;

/** The month of a file's events. */
const MONTH = sql<string>`to_char(first_at at time zone 'UTC', 'YYYY-MM')`;

/** What the archive has of each month of a family's table, in the order of the tables, then of time. */
export async function sumArchivedMonths(db: Db) {
  return inUse(db)
    .select((eb) => [
      'family_table as table',
      MONTH.as('month'),
      eb.cast<number>(eb.fn.sum('row_count'), 'float8').as('rows'),
      eb.cast<number>(eb.fn.sum('bytes'), 'float8').as('bytes'),
      eb.cast<number>(eb.fn.sum('table_bytes'), 'float8').as('tableBytes'),
    ])
    .groupBy(['family_table', MONTH])
    .orderBy('family_table')
    .orderBy(MONTH)
    .execute();
}

/** The archived months with events that were received since a time, and when the last of them was. */
export async function archivedSince(db: Db, since: Date) {
  const files = await inUse(db)
    .where('last_received_at', '>=', since)
    .select(MONTH.as('month'))
    .select((eb) => eb.fn.max('last_received_at').as('last'))
    .groupBy(MONTH)
    .orderBy(MONTH)
    .execute();
  const last = files
    .map((file) => file.last)
    .toSorted((one, other) => one.getTime() - other.getTime())
    .at(-1);
  return { months: files.map(({ month }) => month), last };
}

/** Whether any events are in the archive alone. */
export async function hasArchive(db: Db): Promise<boolean> {
  return (await inUse(db).select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Events of one source and message type: what one file has. */
export interface FileGroup {
  readonly source: string;
  readonly message_type: MessageType;
  /** The first day with events in the file, in UTC: `2026-01-31`. */
  readonly day: string;
  readonly first_at: string;
  readonly last_at: string;
  readonly first_received_at: string;
  readonly last_received_at: string;
  readonly row_count: number;
  readonly table_bytes: number;
}

export interface NewFile extends Omit<FileGroup, 'day'> {
  readonly path: string;
  readonly family_table: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Records written files. Their events are still in the table. Returns their ids. */
export async function addFiles(db: Db, files: readonly NewFile[]): Promise<readonly string[]> {
  const rows = await db
    .insertInto('archived_files')
    .values([...files])
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Whether the written files are sealed: only then may their events leave the table. */
export async function areSealed(db: Db, ids: readonly string[]): Promise<boolean> {
  const sealed = await db
    .selectFrom('log_statements')
    .select((eb) => eb.fn.count<string>('key').distinct().as('count'))
    .where('kind', '=', 'archived file')
    .where('key', '=', (eb) => eb.fn.any(eb.val([...ids])))
    .executeTakeFirstOrThrow();
  return Number(sealed.count) === ids.length;
}

/** The events of these files are there alone from this transaction on. False if one of them was given up meanwhile. */
export async function markArchived(trx: Trx, ids: readonly string[]): Promise<boolean> {
  const marked = await trx
    .updateTable('archived_files')
    .set({ archived_at: sql`now()` })
    .where('archived_at', 'is', null)
    .where('removed_at', 'is', null)
    .where('id', '=', (eb) => eb.fn.any(eb.val([...ids])))
    .executeTakeFirstOrThrow();
  return Number(marked.numUpdatedRows) === ids.length;
}

/** Gives up the files that were written for a table, and whose events are still in it. */
export async function giveUpUnused(db: Db, table: string): Promise<void> {
  await db
    .updateTable('archived_files')
    .set({ removed_at: sql`now()`, removed_because: 'not completed' })
    .where('family_table', '=', table)
    .where('archived_at', 'is', null)
    .where('removed_at', 'is', null)
    .execute();
}

/** The paths of all files that mean nothing any more, whether they are still there or not. */
export async function listRemoved(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('archived_files')
    .select('path')
    .where('removed_at', 'is not', null)
    .execute();
  return new Set(rows.map(({ path }) => path));
}

/** Why files are removed whose months ended their retention. */
export const DROPPED_BY_RETENTION = 'dropped by retention';

/** The events of these files are not there from this transaction on. */
export async function markExpired(trx: Trx, ids: readonly string[]): Promise<void> {
  await trx
    .updateTable('archived_files')
    .set({ removed_at: sql`now()`, removed_because: DROPPED_BY_RETENTION })
    .where('id', '=', (eb) => eb.fn.any(eb.val([...ids])))
    .where('removed_at', 'is', null)
    .execute();
}

/**
 * Finds events of a file that the log does not have, or that are not of what the file is listed for. `events` has the events of
 * this file alone.
 */
export async function findStrayRows(events: Db, { id, table }: ArchivedFile) {
  const listed = (column: string) => sql`(select ${sql.ref(column)} from archived_files where id = ${id})`;
  const isOfFile = sql`row.source = ${listed('source')} and row.message_type = ${listed('message_type')}
    and row.occurred_at between ${listed('first_at')} and ${listed('last_at')}
    and entry.received_to >= ${listed('first_received_at')} and entry.received_from <= ${listed('last_received_at')}`;
  return findStrayEvents(events, table, ALL_SOURCES, {}, isOfFile);
}
