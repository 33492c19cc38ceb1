import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pipeline } from 'node:stream/promises';
import { typesOfTable } from '../events/message-types.ts';
import { keepPrivately } from '../lib/files/durable-file.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import { checkEvents } from '../seal/verify/verify-rows.ts';
import type { Operator } from '../store/access/operator-log.ts';
import {
  copyGroup,
  detachArchived,
  NotArchivedError,
  positionsOfPartition,
  readGroups,
  readPartitionState,
  reasonToWait,
} from '../store/archive/archive-partition.ts';
import { readColumns } from '../store/archive/archive-tables.ts';
import {
  addFiles,
  areSealed,
  giveUpUnused,
  type FileGroup,
  type NewFile,
} from '../store/archive/archived-files.ts';
import { describeBlocked } from '../store/partitions/partition-changes.ts';
import { dropDetached } from '../store/partitions/partitions.ts';
import { addMonths, monthOf, type PartitionedTable } from '../store/partitions/partitioned-tables.ts';
import { readRuns } from '../store/seal/read-seals.ts';
import { copyOut } from '../store/server/postgres-copy.ts';
import { withClient, type Client } from '../store/server/postgres.ts';
import { openArchiveDatabase } from './archive-database.ts';
import { deleteRemoved } from './delete-removed.ts';
import { exported, readExported, sortedBy, writeParquet } from './file-format.ts';
import { namingFullDisk } from './files/full-disk.ts';
import { sha256Of } from '../lib/files/sha256.ts';
import { givingWay, type GiveWay } from './give-way.ts';
import type { ArchiveAccess } from './read-archive.ts';

/** A month of events of one table. */
export interface ArchivableMonth {
  readonly table: PartitionedTable;
  readonly partition: string;
}

/** Called after each step, with the rows that are done of all. */
type OnProgress = (step: 'writing' | 'comparing' | 'sealing', done: number, rows: number) => void;

export interface ArchivedMonth {
  readonly partition: string;
  readonly rows: number;
  readonly files: number;
  /** Of the files. */
  readonly bytes: number;
  /** Of the table, which are free now. */
  readonly tableBytes: number;
}

/**
 * Archives a month: writes its events to files, reads them back, compares each with its leaf in the signed tree, waits until
 * the list of the files is sealed itself, and only then takes the month out of the database, in one transaction. Until that
 * has committed the files mean nothing, and the next attempt removes them. Throws a NotArchivedError with the reason if this
 * month cannot be archived yet, and another error if none can, for example because nothing seals.
 */
export async function archiveMonth(
  access: ArchiveAccess,
  { table, partition }: ArchivableMonth,
  operator: Operator,
  onProgress: OnProgress = () => undefined,
): Promise<ArchivedMonth> {
  const { db } = access;
  const patient = { ...access, giveWay: givingWay(db) };
  const reason = await reasonToWait(db, table, partition);
  if (reason !== undefined) throw new NotArchivedError(`${partition} stays: ${reason}`);
  await giveUpUnused(db, table.name);
  await deleteRemoved(access);
  const { files, state } = await writeFiles(patient, { table, partition }, onProgress);
  if (files.length === 0) throw new NotArchivedError(`${partition} stays: it has no events`);
  const ids = files.map(({ id }) => id);
  const rows = files.reduce((sum, file) => sum + file.row_count, 0);
  await compareWithLeaves(patient, { table, partition }, files, (done) =>
    onProgress('comparing', done, rows),
  );
  onProgress('sealing', 0, rows);
  await untilSealed(access, partition, ids);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const tableBytes = files.reduce((sum, file) => sum + file.table_bytes, 0);
  const details = { rows, files: files.length, bytes, table_bytes: tableBytes };
  await dropDetached(db, table);
  const archived = { table, partition, state, files: ids, operator, details };
  const blocked = await detachArchived(db, archived);
  if (blocked.length > 0) throw new NotArchivedError(blocked.map(describeBlocked).join('; '));
  await dropDetached(db, table);
  return { partition, rows, files: files.length, bytes, tableBytes };
}

type PatientAccess = ArchiveAccess & { readonly giveWay: GiveWay };

type WrittenFile = NewFile & { readonly id: string };

async function writeFiles(
  access: PatientAccess,
  { table, partition }: ArchivableMonth,
  onProgress: OnProgress,
) {
  return withClient(access.databaseUrl, async (client) => {
    // All files are of one moment.
    await client.query('begin isolation level repeatable read read only');
    const state = await readPartitionState(client, partition);
    const groups = await readGroups(client, partition);
    const rows = groups.reduce((sum, group) => sum + group.row_count, 0);
    const files: WrittenFile[] = [];
    let done = 0;
    for (const group of groups) {
      onProgress('writing', done, rows);
      files.push(await storeFile(access, client, table.name, partition, group));
      done += group.row_count;
      await access.giveWay();
    }
    await client.query('commit');
    return { files, state };
  });
}

/** Writes a file on the disk, records it, so that it is deleted if this attempt does not end, and stores it. */
async function storeFile(
  access: PatientAccess,
  client: Client,
  table: string,
  partition: string,
  group: FileGroup,
): Promise<WrittenFile> {
  const { db, files } = access;
  const name = `${group.day}-${encodeURIComponent(group.source).slice(0, 64)}-${group.message_type}-${randomUUID().slice(0, 8)}.parquet`;
  const drafts = path.join(files.directory, '.writing');
  const draft = path.join(drafts, name);
  await makePrivateDirectory(drafts);
  try {
    await namingFullDisk(files.directory, () => writeFile(access, client, table, partition, group, draft));
    const { day, ...counted } = group;
    const file = {
      ...counted,
      path: path.posix.join(table, day.slice(0, 7), name),
      family_table: table,
      bytes: (await stat(draft)).size,
      sha256: await sha256Of(draft),
    };
    const [id = ''] = await addFiles(db, [file]);
    await files.keep(file, draft);
    return { ...file, id };
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeFile(
  { db, engine }: ArchiveAccess,
  client: Client,
  table: string,
  partition: string,
  group: FileGroup,
  file: string,
): Promise<void> {
  const exportedRows = `${file}.json`;
  const columns = await readColumns(db, table);
  let longest = 0;
  const statement = copyGroup(client, partition, group, exported(columns), sortedBy(table));
  try {
    const lines = copyOut(client, statement, { onMessage: (bytes) => (longest = Math.max(longest, bytes)) });
    await pipeline(lines, createWriteStream(exportedRows, { mode: 0o600 }));
    await engine.run(writeParquet(readExported(exportedRows, columns, longest), file));
  } finally {
    await rm(exportedRows, { force: true });
  }
  await keepPrivately(file);
}

/** Reads the written rows back, and compares each with its leaf, by the statement that `verify` uses. */
async function compareWithLeaves(
  access: PatientAccess,
  { table, partition }: ArchivableMonth,
  files: readonly NewFile[],
  onRows: (done: number) => void,
): Promise<void> {
  const rows = files.reduce((sum, file) => sum + file.row_count, 0);
  const positions = await positionsOfPartition(access.db, partition);
  const since = monthOf(partition);
  const part = { messageTypes: typesOfTable(table.name), since, until: addMonths(since, 1) };
  const readable = files.map((file) => ({
    ...file,
    table: table.name,
    messageType: file.message_type,
    rows: file.row_count,
    firstAt: new Date(file.first_at),
    lastAt: new Date(file.last_at),
  }));
  const { db: written, close } = openArchiveDatabase({
    ...access,
    instead: { files: readable },
    readsOn: true,
  });
  let compared = 0;
  try {
    for await (const { firstLeaf, leaves, firstPosition, version } of readRuns(access.db)) {
      if (firstPosition === null || firstPosition >= positions.to || firstPosition + leaves <= positions.from)
        continue;
      for (let done = Math.max(0, positions.from - firstPosition); done < leaves; done += CHUNK) {
        const position = firstPosition + done;
        if (position >= positions.to) break;
        const chunk = { leaf: firstLeaf + done, count: Math.min(CHUNK, leaves - done), position, version };
        const { intact, findings } = await checkEvents(written, chunk, { positions, part }, NO_REASONS);
        // Others of the month may be in files already; that none is missing of these shows in their number.
        const first = findings.find(({ state }) => state === 'ALTERED');
        if (first !== undefined)
          throw new NotArchivedError(
            `${partition} stays: event ${first.eventId} in its file differs from the seal (${first.detail})`,
          );
        compared += intact;
        onRows(compared);
        await access.giveWay();
      }
    }
  } finally {
    await close();
  }
  if (compared !== rows)
    throw new NotArchivedError(
      `${partition} stays: ${rows - compared} of its ${rows} events are not sealed yet`,
    );
}

const CHUNK = 8_192;

/** A missing row has no excuse here. */
const NO_REASONS = { dropped: [], droppedDeliveries: [], erased: [] };

/** The sealer waits for up to 40 s during a burst. */
const SEALED_WITHIN_MS = 60_000;
const RETRY_MS = 100;

async function untilSealed({ db }: ArchiveAccess, partition: string, ids: readonly string[]): Promise<void> {
  const deadline = performance.now() + SEALED_WITHIN_MS;
  while (!(await areSealed(db, ids))) {
    if (performance.now() > deadline)
      throw new Error(
        `${partition} stays: nothing sealed the list of its files. Start serve, which seals it, and repeat the command.`,
      );
    await sleep(RETRY_MS);
  }
}
