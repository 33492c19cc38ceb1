import { randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { checkDataDirectory, openDataDirectory } from '../../lib/files/data-directory.ts';
import { syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';
import { beginRestore, credentialsOf, unpackBaseBackup } from '../../embedded/base-backup.ts';
import { hasCluster, isRestoring, markRestoring } from '../../embedded/cluster.ts';
import { startEmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { UsageError } from '../../lib/errors.ts';
import { freeBytes } from '../../lib/files/free-bytes.ts';
import { logLostConnections, openDatabase } from '../../store/server/database.ts';
import { secretFileOf } from '../../sources/webhook-secret.ts';
import { compareRows } from '../../store/deliveries/count-rows.ts';
import { countOf, formatBytes, formatCount } from '../../lib/text/units.ts';
import { note, print, printJson } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';
import { refuseServer } from './backup.ts';
import { sha256Of } from '../../lib/files/sha256.ts';
import { DATABASE_FILE, readManifest, SPOOL, type Manifest } from './manifest.ts';

/**
 * `restore`: creates the data directory of the settings from a backup. First it compares the checksums of all files, then
 * it starts the database and compares the rows. Until everything is right, no `serve` can start on the result, and the
 * command can be repeated, also after a `kill -9`. Throws a UsageError if the data directory has contents, or the backup
 * is incomplete.
 */
export async function restore(
  config: Config,
  directory: string,
  json: boolean,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  refuseServer(config);
  const { dataDir } = config;
  const from = path.resolve(directory);
  await checkDataDirectory(dataDir);
  const manifest = await readManifest(from);
  if (isRestoring(dataDir)) await removeUnfinished(dataDir);
  await refuseContents(dataDir, manifest);
  await verifyFiles(from, manifest);
  if (!json) note(`verified ${countOf(Object.keys(manifest.files).length, 'file')}; unpacking`);
  await openDataDirectory(dataDir);
  const cluster = await beginRestore(dataDir);
  await unpackBaseBackup(cluster, path.join(from, DATABASE_FILE), signal);
  await copyPrivate(path.join(from, path.basename(credentialsOf(dataDir))), credentialsOf(dataDir));
  await verifyDatabase(dataDir, from, manifest, logger);
  await restoreFiles(from, dataDir, manifest);
  await markRestoring(cluster, false);
  const { began_at: beganAt, rows } = manifest;
  const count = Object.values(rows.tables).reduce((sum, one) => sum + one, 0);
  if (json) printJson({ directory: dataDir, began_at: beganAt, verified_rows: count });
  else {
    print(
      `restored ${dataDir} with everything stored before ${beganAt}: ${countOf(count, 'row')} verified. ` +
        'Never run both this installation and the original: both would forward the same events.',
    );
  }
}

/** What a `restore` leaves that failed or was interrupted is no obstacle. */
async function removeUnfinished(dataDir: string): Promise<void> {
  await beginRestore(dataDir);
  for (const file of [path.join(dataDir, SPOOL), secretFileOf(dataDir)]) {
    await rm(file, { recursive: true, force: true });
  }
}

async function refuseContents(dataDir: string, { database_bytes: needed }: Manifest): Promise<void> {
  const names = await unlessMissing(readdir(dataDir), []);
  const others = names.filter((name) => name !== 'postgres' && name !== 'lost+found');
  if (others.length > 0 || hasCluster(dataDir)) {
    throw new UsageError(
      `DATA_DIR (${dataDir}) is not empty. Set DATA_DIR to a new directory, or move this one away.`,
    );
  }
  const free = await freeBytes(dataDir);
  if (free < needed) {
    throw new UsageError(
      `DATA_DIR (${dataDir}) has ${formatBytes(free)} free, but the database needs ${formatBytes(needed)}.`,
    );
  }
}

async function verifyFiles(from: string, { files }: Manifest): Promise<void> {
  for (const [name, digest] of Object.entries(files)) {
    const found = await unlessMissing(sha256Of(path.join(from, name)), undefined);
    if (found === digest) continue;
    throw new Error(
      `${path.join(from, name)} is ${found === undefined ? 'missing' : 'damaged'}. Use another backup.`,
    );
  }
}

/** Starts the database, which first replays its log, and compares its rows with those that were counted. */
async function verifyDatabase(
  dataDir: string,
  from: string,
  { rows, began_at: beganAt }: Manifest,
  logger: Logger,
): Promise<void> {
  const embedded = await startEmbeddedPostgres(dataDir, undefined, true);
  const db = openDatabase(embedded.databaseUrl, logLostConnections(logger));
  try {
    const different = await compareRows(db, rows);
    if (different.length > 0) {
      const list = different.map(
        ({ table, counted, found }) =>
          `${table} has ${found === undefined ? 'no table' : formatCount(found)} of ${formatCount(counted)}`,
      );
      throw new Error(`the rows of the restored database differ from the backup: ${list.join(', ')}`);
    }
    const action = { action: 'database.restore', subject: from, details: { beganAt } } as const;
    await recordCommand(db, action, async () => undefined);
  } finally {
    await db.destroy();
    await embedded.stop();
  }
}

/** The spool is a directory in the new spool, like that of a process that has ended, which the next `serve` drains. */
async function restoreFiles(from: string, dataDir: string, { files }: Manifest): Promise<void> {
  const segments = Object.keys(files).filter((name) => path.dirname(name) === SPOOL);
  if (segments.length > 0) {
    const directory = path.join(dataDir, SPOOL, randomUUID());
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const name of segments)
      await copyPrivate(path.join(from, name), path.join(directory, path.basename(name)));
    await syncDirectory(directory);
    // A directory without a recent sign of its process is taken over at once.
    await utimes(directory, new Date(0), new Date(0));
  }
  const secret = path.basename(secretFileOf(dataDir));
  if (secret in files) await copyPrivate(path.join(from, secret), secretFileOf(dataDir));
  await syncDirectory(dataDir);
}

async function copyPrivate(from: string, to: string): Promise<void> {
  await rm(to, { force: true });
  await copyFile(from, to);
  await chmod(to, 0o600);
}
