import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { migrateQueue } from '../queue/postgres-engine.ts';
import { openDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { allowReaderLogin, startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { takeInstanceLock } from '../embedded/instance-lock.ts';
import { migrateStore } from '../store/migrate.ts';

/** Where the database of these settings is, running. */
interface DatabaseLocation {
  readonly databaseUrl: string;
  /** Ends what `locateDatabase` has started, unless something else uses it by now. */
  close(): Promise<void>;
}

/** Finds the database: the configured server, else the embedded one, which is started unless it runs. */
export async function locateDatabase({ databaseUrl, dataDir }: Config): Promise<DatabaseLocation> {
  if (databaseUrl !== undefined) return { databaseUrl, close: async () => undefined };
  const embedded = await startEmbeddedPostgres(dataDir);
  return {
    databaseUrl: embedded.databaseUrl,
    close: async () => {
      if (!embedded.started) return;
      // A `serve` may have taken the server over while this command ran.
      const lock = await takeInstanceLock(embedded.databaseUrl);
      if (lock === undefined) return;
      await lock.release();
      await embedded.stop();
    },
  };
}

/** Tells of connections that broke between two queries: the next query makes another one. */
export const logLostConnections = (logger: Logger) => (error: Error) =>
  logger.warn(`a database connection was lost: ${describeError(error)}`);

/** Where the queue is under these settings. */
export function locateQueue({ redisUrl }: Config, databaseUrl: string): QueueLocation {
  return redisUrl === undefined ? { kind: 'postgres', databaseUrl } : { kind: 'redis', url: redisUrl };
}

/** Brings every table up to date: ours, and BullMQ's when the queue is in Postgres. Returns what was applied now. */
export async function migrateAll(config: Config, databaseUrl: string, db: Db): Promise<string[]> {
  const applied = await migrateStore(db);
  if (config.redisUrl === undefined) await migrateQueue(databaseUrl);
  if (config.databaseUrl === undefined) await allowReaderLogin(config.dataDir);
  return applied;
}

/** A command's database, with its tables up to date. */
export interface CommandStore {
  readonly db: Db;
  readonly databaseUrl: string;
}

/** Runs a command's work on the database, and cleans up behind it. The work is told which migrations were applied now. */
export async function withStore(
  config: Config,
  logger: Logger,
  work: (store: CommandStore, applied: readonly string[]) => Promise<void>,
): Promise<void> {
  const location = await locateDatabase(config);
  const { databaseUrl } = location;
  const db = openDatabase(databaseUrl, logLostConnections(logger));
  try {
    const applied = await migrateAll(config, databaseUrl, db);
    await work({ db, databaseUrl }, applied);
  } finally {
    await db.destroy();
    await location.close();
  }
}
