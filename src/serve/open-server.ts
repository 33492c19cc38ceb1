import type { Logger } from 'pino';
import { hasCluster } from '../embedded/cluster.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { UsageError } from '../lib/errors.ts';
import { logLostConnections, openDatabase, openPartDatabase } from '../store/server/database.ts';
import { closeLogged } from '../lib/close-logged.ts';
import type { ServiceConfig } from './load-settings.ts';
import { configuredUrls } from './open-store.ts';

/** Runs a step of the start, and shows its title and how long it took. */
export type RunStep = <T>(title: string, work: () => Promise<T>) => Promise<T>;

interface ServerNeeds {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onEmbedded?: (server: Promise<EmbeddedPostgres>) => void;
  readonly runStep: RunStep;
}

/**
 * Opens the database of the settings, or starts the embedded one: `db` with the limits that all work has which is no
 * `upkeep`, such as migrations, and so may take long. Throws a UsageError if another service uses the embedded one.
 */
export async function openServer(starting: ServerNeeds, opened: AsyncDisposableStack) {
  const { config, logger } = starting;
  const configured = configuredUrls(config);
  const { databaseUrl, readerUrl, migrationUrl, psqlArgument } =
    configured === undefined
      ? await startEmbedded(starting, opened)
      : { ...configured, psqlArgument: undefined };
  const upkeep = openDatabase(databaseUrl, logLostConnections(logger));
  opened.defer(closeLogged(logger, 'database of the upkeep', () => upkeep.destroy()));
  const db = openPartDatabase('the service', 'service', { databaseUrl, logger }, opened);
  return { db, upkeep, databaseUrl, readerUrl, migrationUrl, psqlArgument };
}

async function startEmbedded(
  { config: { dataDir }, logger, signal, onEmbedded, runStep }: ServerNeeds,
  opened: AsyncDisposableStack,
): Promise<EmbeddedPostgres> {
  const title = hasCluster(dataDir) ? 'Starting the database' : 'Creating the database';
  const locking = lockEmbedded(dataDir, signal);
  onEmbedded?.(locking.then(({ embedded }) => embedded));
  const { embedded, lock } = await runStep(title, () => locking);
  opened.defer(closeLogged(logger, 'embedded Postgres', () => embedded.stop()));
  opened.defer(closeLogged(logger, 'instance lock', () => lock.release()));
  signal.throwIfAborted();
  return embedded;
}

async function lockEmbedded(dataDir: string, signal: AbortSignal) {
  const embedded = await startEmbeddedPostgres(dataDir, signal);
  const lock = await embedded.lock();
  if (lock === undefined) {
    throw new UsageError(
      `Another xiq-sink is already running on ${dataDir}. Stop it first, or set DATA_DIR to another directory.`,
    );
  }
  return { embedded, lock };
}
