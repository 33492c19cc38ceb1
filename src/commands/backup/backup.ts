import { copyFile, chmod, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { keepPrivately, replaceFile, syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';
import { credentialsOf, writeBaseBackup } from '../../embedded/base-backup.ts';
import { UsageError } from '../../lib/errors.ts';
import { SEGMENT_SUFFIX } from '../../queue/spool/ownership.ts';
import { withStore } from '../../serve/open-store.ts';
import { secretFileOf } from '../../sources/webhook-secret.ts';
import { hasArchive } from '../../store/archive/archived-files.ts';
import { countRows } from '../../store/deliveries/count-rows.ts';
import type { Db } from '../../store/server/database.ts';
import { countOf, formatBytes } from '../../lib/text/units.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { note, print, printJson } from '../shared/output.ts';
import { createProgress, type Progress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';
import { sha256Of } from '../../lib/files/sha256.ts';
import { DATABASE_FILE, MANIFEST_FILE, SPOOL, type Manifest } from './manifest.ts';

const MIB = 2 ** 20;

/**
 * `backup`: copies the embedded database and the files beside it to a new directory. Whatever was accepted before it
 * began is in the backup, and every row that was committed before its end. Throws a UsageError if the database is not the
 * embedded one, or the directory has other files.
 */
export async function backUp(
  config: Config,
  directory: string,
  json: boolean,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  refuseServer(config);
  const target = path.resolve(directory);
  await withStore(config, logger, async ({ db, archive }) => {
    await createEmpty(target);
    if (await hasArchive(db))
      note(`The archive in ${archive.files.where} is not in this backup: copy it as well.`);
    try {
      const manifest = await recordCommand(
        db,
        { action: 'database.backup', subject: target },
        () => copyAll(db, config, target, signal),
        ({ end_lsn, database_bytes }) => ({ end_lsn, database_bytes }),
      );
      report(manifest, target, json);
    } catch (error) {
      await rm(target, { recursive: true, force: true });
      throw error;
    }
  });
  if (config.redisUrl !== undefined) {
    note('Deliveries waiting in Redis are not in this backup: back up Redis as well.');
  }
}

/** A server has tools of its own, which know its storage. */
export function refuseServer({ databaseUrl }: Config): void {
  if (databaseUrl === undefined) return;
  throw new UsageError(
    'DATABASE_URL is set: backup and restore are for the embedded database. ' +
      'For a server, see "A Postgres server" in docs/backup.md.',
  );
}

async function copyAll(db: Db, { dataDir }: Config, target: string, signal: AbortSignal): Promise<Manifest> {
  const beganAt = new Date();
  // Before the database: a delivery that leaves the spool meanwhile is in the database by then.
  const segments = await copySpool(path.join(dataDir, SPOOL), path.join(target, SPOOL));
  const others = [credentialsOf(dataDir), secretFileOf(dataDir)];
  const copied = await Promise.all(
    others.map((file) => copyIfAny(file, path.join(target, path.basename(file)))),
  );
  const rows = await countRows(db);
  let progress: Progress | undefined;
  const { endLsn, bytes } = await writeBaseBackup(
    dataDir,
    path.join(target, DATABASE_FILE),
    (done, total) => {
      progress ??= createProgress('MiB copied', Math.ceil(total / MIB));
      progress.show(Math.floor(done / MIB));
    },
    signal,
  ).finally(() => progress?.clear());
  const names = [
    DATABASE_FILE,
    ...others.filter((_, index) => copied[index]).map((file) => path.basename(file)),
    ...segments.map((name) => path.join(SPOOL, name)),
  ];
  const files: Record<string, string> = {};
  for (const name of names) files[name] = await sha256Of(path.join(target, name));
  const manifest: Manifest = {
    format: 1,
    version: packageJson.version,
    began_at: beganAt.toISOString(),
    ended_at: new Date().toISOString(),
    end_lsn: endLsn,
    database_bytes: bytes,
    files,
    rows,
  };
  await writeLast(target, manifest);
  return manifest;
}

async function createEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = await readdir(directory);
  if (names.length > 0) {
    const isUnfinished = names.includes(DATABASE_FILE) && !names.includes(MANIFEST_FILE);
    throw new UsageError(
      isUnfinished
        ? `${directory} contains an incomplete backup. Delete it, or use another directory.`
        : `${directory} is not empty: a backup needs its own directory.`,
    );
  }
  // It contains passwords, and everything that was stored.
  await chmod(directory, 0o700);
}

/**
 * Copies the segments of all processes. One that disappears meanwhile was drained, or moved to the directory of another
 * process, so the directories are listed until two listings in a row have nothing new. Returns the names.
 */
async function copySpool(from: string, to: string): Promise<readonly string[]> {
  const copied = new Set<string>();
  await mkdir(to, { mode: 0o700 });
  for (let listings = 0; listings < 2; listings += 1) {
    for (const file of await readdir(from, { recursive: true }).catch(() => [])) {
      const name = path.basename(file);
      if (!name.endsWith(SEGMENT_SUFFIX) || copied.has(name)) continue;
      listings = -1;
      if (await copyIfAny(path.join(from, file), path.join(to, name))) copied.add(name);
    }
  }
  return [...copied];
}

/** Copies a file durably. False if there is none. */
async function copyIfAny(from: string, to: string): Promise<boolean> {
  if (
    !(await unlessMissing(
      copyFile(from, to).then(() => true),
      false,
    ))
  )
    return false;
  await keepPrivately(to);
  return true;
}

/** The manifest makes the directory a backup, so everything else is on the disk before it. */
async function writeLast(target: string, manifest: Manifest): Promise<void> {
  await syncDirectory(path.join(target, SPOOL));
  await replaceFile(path.join(target, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
  await syncDirectory(path.dirname(target));
}

function report({ files, rows, ...manifest }: Manifest, directory: string, json: boolean): void {
  const events = Object.values(rows.tables).reduce((sum, count) => sum + count, 0);
  if (json) printJson({ directory, ...manifest, files: Object.keys(files).length, rows: events });
  else {
    print(
      `backed up ${formatBytes(manifest.database_bytes)} (${countOf(events, 'row')}) to ${directory}, ` +
        `with everything stored before ${manifest.began_at}. Keep it private: it contains passwords.`,
    );
  }
}
