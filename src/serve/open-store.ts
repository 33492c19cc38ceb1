import path from 'node:path';
import type { Logger } from 'pino';
import { openArchiveDatabase } from '../archive/archive-database.ts';
import { Engine } from '../archive/engine.ts';
import { openArchiveFiles } from '../archive/files/open-files.ts';
import type { ArchiveAccess } from '../archive/read-archive.ts';
import type { Config } from '../config/config.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { checkDataDirectory } from '../lib/files/data-directory.ts';
import { hasCluster } from '../embedded/cluster.ts';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { commandName } from '../lib/text/command-name.ts';
import { describeError, isAccessRefused, OutageError, reasonOf, UsageError } from '../lib/errors.ts';
import { isPooled, serverName } from '../store/server/postgres.ts';
import type { QueueLocation } from '../queue/engine.ts';
import type { InstallationMemory } from '../queue/installation.ts';
import { isQueueMigrated, migrateQueue } from '../queue/postgres-engine.ts';
import { createRoles } from '../store/server/roles/create-roles.ts';
import { roleOf } from '../store/server/roles/roles.ts';
import { buildIndexes, type BuildOptions } from '../store/server/schema/build-indexes.ts';
import {
  checkDatabase,
  openDatabase,
  withDirectConnection,
  logLostConnections,
  type Db,
} from '../store/server/database.ts';
import { classifyFailure } from '../store/server/failure.ts';
import {
  checkCompatible,
  migrateStore,
  readMigrationState,
  type MigrationState,
} from '../store/server/schema/migrate.ts';

/** Connection strings of one database, each of another role. */
export interface DatabaseUrls {
  readonly databaseUrl: string;
  /** Of `xiq_reader`. Undefined if the settings do not name it. */
  readonly readerUrl: string | undefined;
  /** Of the role for migrations. Undefined: the service migrates. */
  readonly migrationUrl: string | undefined;
}

interface DatabaseLocation extends DatabaseUrls {
  /** Stops the server if `locateDatabase` started it and no `serve` uses it by now. */
  close(): Promise<void>;
}

/**
 * Finds the database: the configured server, or else the embedded one, which is started unless it runs. Throws a
 * UsageError if no embedded database was ever created.
 */
export async function locateDatabase(config: Config): Promise<DatabaseLocation> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === undefined) await checkDataDirectory(dataDir);
  if (databaseUrl === undefined && !hasCluster(dataDir)) {
    throw new UsageError(
      `There is no database in ${path.join(dataDir, 'postgres')}. Set DATA_DIR or DATABASE_URL to the ones that serve uses, or create a database with: ${commandName()} serve`,
    );
  }
  return locateOrCreate(config);
}

async function locateOrCreate(config: Config): Promise<DatabaseLocation> {
  const configured = configuredUrls(config);
  if (configured !== undefined) return { ...configured, close: async () => undefined };
  const embedded = await startEmbeddedPostgres(config.dataDir);
  return {
    ...embedded,
    close: async () => {
      if (!embedded.started) return;
      // A `serve` may have taken the server over while this command ran.
      const lock = await embedded.lock();
      if (lock === undefined) return;
      await lock.release();
      await embedded.stop();
    },
  };
}

/** The connection strings of the settings. Undefined: the database is the embedded one. */
export function configuredUrls(config: Config): DatabaseUrls | undefined {
  const { databaseUrl, readerDatabaseUrl: readerUrl, migrationDatabaseUrl: migrationUrl } = config;
  return databaseUrl === undefined ? undefined : { databaseUrl, readerUrl, migrationUrl };
}

/** Where the queue is under these settings. Without an installation, the queue is only inspected, whoever owns it. */
export function locateQueue(
  { redisUrl, redisCaFile: caFile, queuePrefix: prefix, ...config }: Config,
  databaseUrl: string,
  installation?: InstallationMemory,
): QueueLocation {
  // The embedded database has no pooler in front of it.
  const directUrl = config.databaseUrl === undefined ? databaseUrl : config.databaseDirectUrl;
  return redisUrl === undefined
    ? { kind: 'postgres', databaseUrl, directUrl }
    : { kind: 'redis', url: redisUrl, caFile, prefix, installation };
}

/** What reads and writes the archive of these settings, until `opened` is disposed of. */
export function openArchive(
  { archive, databaseDirectUrl }: Config,
  { db, databaseUrl, logger }: Pick<ArchiveAccess, 'db' | 'databaseUrl'> & { readonly logger: Logger },
  opened: AsyncDisposableStack,
): ArchiveAccess {
  const engine = new Engine(archive.directory);
  opened.defer(closeLogged(logger, 'the engine of the archive', async () => engine[Symbol.asyncDispose]()));
  const files = openArchiveFiles(archive);
  return { db, files, engine, databaseUrl: databaseDirectUrl ?? databaseUrl };
}

/** Brings every table up to date: ours, and BullMQ's if the queue is in Postgres. Returns the migrations applied now. */
async function migrateAll(
  config: Config,
  { databaseUrl, migrationUrl }: DatabaseUrls,
  db: Db,
  signal?: AbortSignal,
): Promise<string[]> {
  const service = migrationUrl === undefined ? undefined : roleOf(databaseUrl);
  const applied = await withDirectConnection(migrationUrl ?? config.databaseDirectUrl, db, (direct) =>
    migrateStore(direct, signal, undefined, service),
  );
  signal?.throwIfAborted();
  if (config.redisUrl === undefined) await migrateQueue(config.databaseDirectUrl ?? databaseUrl);
  return applied;
}

/**
 * The tables for `serve`: brings them up to date, unless that is left to the command `migrate`. Returns the migrations
 * applied now. Throws a UsageError if the tables are not those of this version.
 */
export async function prepareTables(
  config: Config,
  urls: DatabaseUrls,
  db: Db,
  signal: AbortSignal,
): Promise<string[]> {
  const { databaseUrl } = urls;
  if (config.migrates) return namingRefusal(databaseUrl, () => migrateAll(config, urls, db, signal));
  const state = await namingRefusal(databaseUrl, () => readMigrationState(db));
  checkTables(state, nameOf(config, databaseUrl));
  if (config.redisUrl === undefined && !(await isQueueMigrated(databaseUrl))) {
    throw new UsageError(`The queue's tables are not up to date. Run: ${commandName()} migrate`);
  }
  return [];
}

/** The database as a person knows it: its server, or the directory of the embedded one. */
const nameOf = ({ databaseUrl, dataDir }: Config, actualUrl: string) =>
  databaseUrl === undefined ? dataDir : serverName(actualUrl);

export interface CommandStore extends DatabaseUrls {
  readonly db: Db;
  /** The same database for reading events: those of the archive as well. */
  readonly events: Db;
  readonly archive: ArchiveAccess;
}

/**
 * Runs a command's work on the existing database and closes it afterwards. Creates and migrates nothing: throws a
 * UsageError if there is no database, or if its tables are not those of this version, and an error of one line if
 * the server cannot be reached.
 */
export async function withStore(
  config: Config,
  logger: Logger,
  work: (store: CommandStore) => Promise<void>,
): Promise<void> {
  await withLocation(config, await locateDatabase(config), logger, async (store) => {
    const state = await asOutage(store.databaseUrl, () => readMigrationState(store.db));
    checkTables(state, nameOf(config, store.databaseUrl));
    await work(store);
  });
}

/**
 * Creates the embedded database unless it exists, creates the roles if the settings name a superuser, brings its tables
 * up to date, and builds the indexes of large tables. Returns the migrations applied and the indexes built now. Throws an
 * error of one line if the server cannot be reached.
 */
export async function prepareStore(
  config: Config,
  logger: Logger,
  options: BuildOptions = {},
): Promise<readonly string[]> {
  const { bootstrapDatabaseUrl, databaseDirectUrl } = config;
  const { databaseUrl, readerUrl, migrationUrl } = configuredUrls(config) ?? {};
  if (bootstrapDatabaseUrl !== undefined && databaseUrl !== undefined && readerUrl !== undefined) {
    const bootstrapUrl = new URL(bootstrapDatabaseUrl);
    bootstrapUrl.pathname = new URL(databaseUrl).pathname;
    await asOutage(databaseUrl, () =>
      createRoles(bootstrapUrl.href, { databaseUrl, readerUrl, migrationUrl }),
    );
  }
  let applied: readonly string[] = [];
  await withLocation(config, await locateOrCreate(config), logger, async ({ db, ...urls }) => {
    await asOutage(urls.databaseUrl, () => checkDatabase(db));
    const migrations = await migrateAll(config, urls, db, options.signal);
    const directUrl = urls.migrationUrl ?? databaseDirectUrl;
    const building = { ...options, isPooled: () => isPooled(directUrl ?? urls.databaseUrl) };
    const indexes = await withDirectConnection(directUrl, db, (direct) => buildIndexes(direct, building));
    if (indexes === 'pooled') {
      throw new UsageError(
        "Indexes cannot be built through a pooler. Set DATABASE_DIRECT_URL to the database's own address.",
      );
    }
    if (indexes === 'busy') throw new OutageError('another process is building the indexes; try again later');
    applied = [...migrations, ...indexes.map((index) => `index ${index}`)];
  });
  return applied;
}

async function withLocation(
  config: Config,
  location: DatabaseLocation,
  logger: Logger,
  work: (store: CommandStore) => Promise<void>,
): Promise<void> {
  const { databaseUrl, readerUrl, migrationUrl } = location;
  await using opened = new AsyncDisposableStack();
  opened.defer(() => location.close());
  const db = openDatabase(databaseUrl, logLostConnections(logger));
  opened.defer(() => db.destroy());
  const archive = openArchive(config, { db, databaseUrl, logger }, opened);
  const { db: events, close } = openArchiveDatabase(archive);
  opened.defer(close);
  await work({ db, events, archive, databaseUrl, readerUrl, migrationUrl });
}

function checkTables(state: MigrationState, where: string): void {
  checkCompatible(state);
  const { applied, pending } = state;
  if (applied.length === 0) {
    throw new UsageError(
      `The database at ${where} has no tables of xiq-sink. Check DATABASE_URL and DATA_DIR, or create the tables with: ${commandName()} migrate`,
    );
  }
  if (pending.length > 0) {
    throw new UsageError(
      `The database at ${where} belongs to an older version of xiq-sink. Update its tables with: ${commandName()} migrate`,
    );
  }
}

/** What the first query of a command throws, in one line, if it is the connection that failed. */
async function asOutage<T>(databaseUrl: string, query: () => Promise<T>): Promise<T> {
  try {
    return await namingRefusal(databaseUrl, query);
  } catch (error) {
    if (classifyFailure(error) !== 'connection lost') throw error;
    throw new Error(
      `Can't reach the database at ${serverName(databaseUrl)} (${reasonOf(error)}). Check DATABASE_URL.`,
      { cause: error },
    );
  }
}

/** Runs a query. What it throws says what to do if the database denied the login or a right. */
async function namingRefusal<T>(databaseUrl: string, query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (!isAccessRefused(error)) throw error;
    throw new Error(
      `The database at ${serverName(databaseUrl)} denies access (${describeError(error)}). Check the login in its URL, or create the roles (docs/operating.md#database-roles).`,
      { cause: error },
    );
  }
}
