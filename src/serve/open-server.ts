import type { Logger } from 'pino';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { UsageError } from '../errors.ts';
import { openDatabase, type Db } from '../store/database.ts';
import { closing } from './closing.ts';
import type { ServiceConfig } from './load-settings.ts';
import { logLostConnections } from './open-store.ts';

interface ServerNeeds {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  /** Ends the start. */
  readonly signal: AbortSignal;
  /** Called with the embedded database as soon as it is starting. */
  readonly onEmbedded?: (server: Promise<EmbeddedPostgres>) => void;
}

interface OpenServer {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly psqlArgument: string | undefined;
}

/** Opens the database of the settings, or starts the embedded one. Throws a UsageError if another service uses that. */
export async function openServer(starting: ServerNeeds, opened: AsyncDisposableStack): Promise<OpenServer> {
  const { config, logger } = starting;
  const { databaseUrl, psqlArgument } =
    config.databaseUrl === undefined
      ? await startEmbedded(starting, opened)
      : { databaseUrl: config.databaseUrl, psqlArgument: undefined };
  const db = openDatabase(databaseUrl, logLostConnections(logger));
  opened.defer(closing(logger, 'database', () => db.destroy()));
  return { db, databaseUrl, psqlArgument };
}

async function startEmbedded(
  { config: { dataDir }, logger, signal, onEmbedded }: ServerNeeds,
  opened: AsyncDisposableStack,
): Promise<EmbeddedPostgres> {
  const locking = lockEmbedded(dataDir, signal);
  onEmbedded?.(locking.then(({ embedded }) => embedded));
  const { embedded, lock } = await locking;
  opened.defer(closing(logger, 'embedded Postgres', () => embedded.stop()));
  opened.defer(closing(logger, 'instance lock', () => lock.release()));
  signal.throwIfAborted();
  return embedded;
}

async function lockEmbedded(dataDir: string, signal: AbortSignal) {
  const embedded = await startEmbeddedPostgres(dataDir, signal);
  const lock = await embedded.lock();
  if (lock === undefined) {
    throw new UsageError(
      `Another xiq-sink serves on ${dataDir} already. Stop it first, or set DATA_DIR to another directory.`,
    );
  }
  return { embedded, lock };
}
