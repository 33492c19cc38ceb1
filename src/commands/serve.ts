import type { Logger } from 'pino';
import { systemClock } from '../cloud/clock.ts';
import { maskConfig } from '../config.ts';
import type { Config, SourceConfig } from '../config.ts';
import { describeError, UsageError } from '../errors.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import { createFailedSecrets } from '../ingest/failed-secrets.ts';
import type { HttpListener, TlsCertificate } from '../ingest/http-listener.ts';
import { createHealthServer, createIngestServer } from '../ingest/ingest-server.ts';
import type { HealthOptions } from '../ingest/ingest-server.ts';
import { readTlsFiles, watchTlsFiles } from '../ingest/tls-files.ts';
import { createSecretVerifier } from '../ingest/verify-secret.ts';
import { openDeliveryQueue } from '../queue/delivery-queue.ts';
import { startDeliveryWorker } from '../queue/delivery-worker.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { checkDatabase, openDatabase, openStoringDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { takeInstanceLock } from '../store/instance-lock.ts';
import { maintainPartitions } from '../store/partitions.ts';
import { watchSubscriptions } from '../subscribe/watch.ts';
import { migrateAll, locateQueue } from './open-store.ts';
import { createSubscribers } from './subscribers.ts';
import { completeSecrets } from './webhook-secret.ts';
import type { SourceSecrets } from './webhook-secret.ts';

export const ROLES = ['all', 'ingest', 'worker'] as const;

/** Which parts one process runs; a larger set-up runs many of each on one queue and one database. */
export type Role = (typeof ROLES)[number];

/** Months are created and retention is applied this often. */
const MAINTENANCE_INTERVAL_MS = 60 * 60 * 1000;

/** The running service. */
export interface Service {
  /** What deliveries must carry; none in the role `worker`. */
  readonly secrets: SourceSecrets | undefined;
  /** Where it listens: for deliveries, or in the role `worker` for questions about its health alone. */
  readonly port: number;
  /** What a person gives to psql; only of the embedded database. */
  readonly readerUrl: string | undefined;
  /** Stops in reverse order of the start: takes nothing new, finishes what was taken, closes. */
  stop(): Promise<void>;
}

/** What was opened, to be closed in reverse order. */
interface Opened {
  push(what: string, close: () => Promise<unknown>): void;
  closeAll(): Promise<void>;
}

/** Starts the service. Resolves once it works; when it cannot start, it closes what it had opened. */
export async function startService(config: Config, role: Role, logger: Logger): Promise<Service> {
  logger.info({ ...maskConfig(config), role }, 'starting');
  const opened = createOpened(logger);
  try {
    const started = await startParts(config, role, logger, opened);
    return { ...started, stop: () => opened.closeAll() };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

/** Starts what the role needs: what takes from the queue first, what deliveries come in by last. */
async function startParts(
  config: Config,
  role: Role,
  logger: Logger,
  opened: Opened,
): Promise<Omit<Service, 'stop'>> {
  const needsStore = role !== 'ingest' || config.redisUrl === undefined;
  const store = needsStore ? await openStore(config, logger, opened) : undefined;
  const queueLocation = locateQueue(config, store?.databaseUrl ?? '');
  const health: HealthOptions = {
    checks: store === undefined ? {} : { database: () => checkDatabase(store.db) },
    tls: config.tls === undefined ? undefined : readTlsFiles(config.tls),
    logger,
  };
  if (role !== 'ingest' && store !== undefined) {
    await startMaintenance(config, store.db, logger, opened);
    startWorker(store.databaseUrl, queueLocation, logger, opened);
  }
  const readerUrl = store?.readerUrl;
  if (role === 'worker') {
    const port = await listen(config, createHealthServer(health), logger, opened);
    startSubscriptionWatch(config, config.sources, store?.db, logger, opened);
    return { secrets: undefined, port, readerUrl };
  }
  const secrets = await completeSecrets(config);
  const queue = openDeliveryQueue(queueLocation, logger);
  opened.push('queue', () => queue.close());
  const server = createIngestServer({
    ...health,
    checks: { queue: () => queue.check(), ...health.checks },
    verifier: createSecretVerifier(secrets.sources),
    failedSecrets: createFailedSecrets(),
    enqueue: (delivery) => queue.enqueue(delivery),
    maxBodyBytes: config.maxBodyBytes,
  });
  const port = await listen(config, server, logger, opened);
  if (role === 'all') startSubscriptionWatch(config, secrets.sources, store?.db, logger, opened);
  return { secrets, port, readerUrl };
}

function startWorker(
  databaseUrl: string,
  queueLocation: QueueLocation,
  logger: Logger,
  opened: Opened,
): void {
  const giveUp = new AbortController();
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database of the worker', () => db.destroy());
  const worker = startDeliveryWorker(queueLocation, createBatchStore(db, logger, giveUp.signal), logger);
  opened.push('worker', () => {
    giveUp.abort();
    return worker.close();
  });
}

const logLostConnections = (logger: Logger) => (error: Error) =>
  logger.warn(`a database connection was lost: ${describeError(error)}`);

function createOpened(logger: Logger): Opened {
  const closers: { what: string; close: () => Promise<unknown> }[] = [];
  return {
    push: (what, close) => closers.push({ what, close }),
    async closeAll() {
      for (let last = closers.pop(); last !== undefined; last = closers.pop()) {
        const started = performance.now();
        try {
          await last.close();
          logger.debug({ ms: Math.round(performance.now() - started) }, `closed ${last.what}`);
        } catch (error) {
          // What was opened before it still has to be closed.
          logger.error({ err: error }, `${last.what} was not closed: ${describeError(error)}`);
        }
      }
    },
  };
}

interface OpenStore {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly readerUrl: string | undefined;
}

async function openStore(config: Config, logger: Logger, opened: Opened): Promise<OpenStore> {
  const { databaseUrl, readerUrl } = await openServer(config, opened);
  const db = openDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database', () => db.destroy());
  const applied = await migrateAll(config, databaseUrl, db);
  if (applied.length > 0) logger.info({ applied }, 'database migrated');
  return { db, databaseUrl, readerUrl };
}

async function openServer(config: Config, opened: Opened): Promise<Omit<OpenStore, 'db'>> {
  if (config.databaseUrl !== undefined) return { databaseUrl: config.databaseUrl, readerUrl: undefined };
  const embedded = await startEmbeddedPostgres(config.dataDir);
  const lock = await takeInstanceLock(embedded.databaseUrl);
  if (lock === undefined) {
    throw new UsageError(
      `another xiq-sink serves on ${config.dataDir} already: stop it first, or set DATA_DIR to a directory of its own`,
    );
  }
  opened.push('embedded Postgres', () => embedded.stop());
  opened.push('instance lock', () => lock.release());
  return embedded;
}

/** Maintains the partitions now, so that the first row finds its month, and from then on every hour. */
async function startMaintenance(config: Config, db: Db, logger: Logger, opened: Opened): Promise<void> {
  const maintain = async () => {
    const { created, dropped, inDefault } = await maintainPartitions(db, new Date(), config.retentionMonths);
    if (created.length > 0) logger.info(`${created.length} month partitions created`);
    if (dropped.length > 0) logger.info({ dropped }, 'retention dropped partitions');
    for (const { partition, rows } of inDefault) {
      logger.warn({ partition, rows }, 'events lie outside every month that has a partition');
    }
  };
  await maintain();
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = maintain().catch((error: unknown) => {
      logger.error({ err: error }, `partitions were not maintained: ${describeError(error)}`);
    });
  }, MAINTENANCE_INTERVAL_MS);
  opened.push('maintenance', async () => {
    clearInterval(timer);
    await running;
  });
}

/** Watches the subscriptions of the sources that have an API: last of all, for the cloud then begins to send. */
function startSubscriptionWatch(
  { publicUrl, subscribe }: Config,
  sources: readonly SourceConfig[],
  db: Db | undefined,
  logger: Logger,
  opened: Opened,
): void {
  if (db === undefined || sources.every(({ cloud }) => cloud === undefined)) return;
  if (publicUrl === undefined) {
    logger.info('PUBLIC_URL is not set: the subscriptions in the cloud are not checked');
    return;
  }
  const watch = watchSubscriptions({
    subscribers: createSubscribers({ sources, publicUrl, db, logger }),
    repairs: subscribe === 'auto',
    logger,
    clock: systemClock,
  });
  opened.push('subscription watch', () => watch.stop());
}

async function listen(config: Config, server: HttpListener, logger: Logger, opened: Opened): Promise<number> {
  const port = await server.listen(config.port, config.host);
  opened.push('listener', () => server.close());
  if (config.tls !== undefined) reloadTls(config.tls, (tls) => server.useCertificate(tls), logger, opened);
  return port;
}

function reloadTls(
  files: NonNullable<Config['tls']>,
  useCertificate: (tls: TlsCertificate) => void,
  logger: Logger,
  opened: Opened,
): void {
  const unwatch = watchTlsFiles(files, () => {
    try {
      useCertificate(readTlsFiles(files));
      logger.info(files, 'TLS certificate reloaded');
    } catch (error) {
      logger.error({ err: error, ...files }, 'the changed TLS certificate cannot be used; the old one stays');
    }
  });
  opened.push('TLS watch', async () => unwatch());
}
