import path from 'node:path';
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import { maskConfig } from '../config.ts';
import type { Config } from '../config.ts';
import type { SourceConfig } from '../config.ts';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { UsageError } from '../errors.ts';
import { createAdmission } from '../ingest/admission.ts';
import { createFailedSecrets } from '../failed-secrets.ts';
import type { HttpListener } from '../ingest/http-listener.ts';
import { createHealthServer, createIngestServer } from '../ingest/ingest-server.ts';
import type { HealthOptions } from '../ingest/ingest-server.ts';
import { createReadiness } from '../observe/readiness.ts';
import { readTlsFiles } from '../ingest/tls-files.ts';
import { createSecretVerifier } from '../ingest/verify-secret.ts';
import { openBatchQueue } from '../queue/batch-queue.ts';
import type { QueueMeasure } from '../queue/batch-queue.ts';
import { openDeliveryQueue } from '../queue/delivery-queue.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { openDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { findStoredDeliveries } from '../store/deliveries.ts';
import { watchSubscriptions } from '../subscribe/watch.ts';
import { createConsole } from './console.ts';
import { locateQueue, logLostConnections, migrateAll } from './open-store.ts';
import { forwardsIn, receivesIn, storesIn } from './roles.ts';
import type { Role } from './roles.ts';
import { startForwardings } from './forwarding.ts';
import type { ForwardingOptions } from './forwarding.ts';
import { checksOf } from './readiness-checks.ts';
import { startObserving } from './observation.ts';
import type { Observation } from './observation.ts';
import { startStoring } from './storing.ts';
import type { StoringOptions } from './storing.ts';
import { startWithDatabase } from './start-with-database.ts';
import type { Start } from './start-with-database.ts';
import { createSubscribers } from '../subscribe/create-subscribers.ts';
import { closing } from './closing.ts';
import { startAdminListener, startListener } from './listeners.ts';
import type { ServiceConfig } from './load-settings.ts';
import { completeSecrets, readSecrets } from './webhook-secret.ts';
import type { SourceSecrets } from './webhook-secret.ts';

/** The running service. */
export interface Service {
  /** The sources that deliveries come from, with their secrets. */
  readonly sources: readonly SourceConfig[];
  /** The generated secret, if a source uses it. Undefined in a role that accepts no deliveries. */
  readonly secrets: SourceSecrets | undefined;
  /** The port for deliveries, or for health checks alone. */
  readonly port: number;
  /** The port of console, API and metrics. */
  readonly adminPort: number;
  /** The argument for psql. Undefined unless the database is the embedded one. */
  readonly psqlArgument: string | undefined;
  /** Accepts no more deliveries, finishes those in progress, closes everything. */
  stop(): Promise<void>;
}

interface StartOptions {
  /** Called with the embedded database as soon as it is starting, so that it can be stopped whatever happens. */
  readonly onEmbedded?: (server: Promise<EmbeddedPostgres>) => void;
}

/**
 * Starts the service. Resolves once it runs. If it cannot start, it closes everything that it opened; the error is a
 * UsageError if a person has to change something.
 */
export async function startService(
  given: ServiceConfig,
  role: Role,
  logger: Logger,
  options: StartOptions = {},
): Promise<Service> {
  if (role === 'ingest' && given.durability === 'strict' && given.databaseUrl === undefined) {
    throw new UsageError(
      'DURABILITY=strict needs DATABASE_URL: deliveries are kept until they are stored there',
    );
  }
  const secrets = receivesIn(role) ? await completeSecrets(given) : undefined;
  const config = { ...given, sources: secrets?.sources ?? (await readSecrets(given)) };
  logger.info({ ...maskConfig(config), role }, 'starting');
  await using opened = new AsyncDisposableStack();
  const started = await startParts({ config, secrets, role, logger, ...options }, opened);
  const running = opened.move();
  return { ...started, sources: config.sources, secrets, stop: () => running.disposeAsync() };
}

interface Starting extends StartOptions {
  /** With the secrets of all sources. */
  readonly config: ServiceConfig;
  readonly secrets: SourceSecrets | undefined;
  readonly role: Role;
  readonly logger: Logger;
}

/**
 * Starts what the role needs. Deliveries are accepted before everything else, even if queue and database are down: they
 * are spooled then. Storing is closed last, so that it finishes what was accepted.
 */
async function startParts(
  starting: Starting,
  opened: AsyncDisposableStack,
): Promise<Pick<Service, 'port' | 'adminPort' | 'psqlArgument'>> {
  const { config, secrets, role, logger } = starting;
  const { destinations } = config;
  const database = needsDatabase(config, role) ? await openServer(starting, opened) : undefined;
  const working = opened.use(new AsyncDisposableStack());
  const queueLocation = locateQueue(config, database?.databaseUrl ?? '');
  const db = database?.db;
  const observation = await startObserving({ config, role, db, destinations, logger }, opened);
  const queue = receivesIn(role)
    ? openQueue({ config, location: queueLocation, db, observation, logger }, opened)
    : undefined;
  const hasConsole = role === 'all' || role === 'console';
  const measure = storesIn(role) || hasConsole ? measureOf(queue, queueLocation, logger, opened) : undefined;
  const readiness = createReadiness(checksOf({ role, db, queue, measure, observation }), logger);
  const health: HealthOptions = {
    readiness,
    observer: observation.ingest,
    tls: config.tls === undefined ? undefined : readTlsFiles(config.tls),
    logger,
  };
  const listener =
    queue === undefined ? createHealthServer(health) : createIngest(config, queue, observation, health);
  const port = await startListener(config, listener, logger, opened);
  const console =
    hasConsole && database !== undefined && measure !== undefined
      ? createConsole(
          {
            config,
            databaseUrl: database.databaseUrl,
            logger,
            readiness: () => readiness.describe(),
            queue: measure,
            watched: storesIn(role) ? observation.arrivals : undefined,
            secretFile: secrets?.secretFile,
          },
          opened,
        )
      : undefined;
  if (console !== undefined) observation.addPool('console', console.db, opened);
  const metrics = () => observation.metrics.render();
  const adminPort = await startAdminListener(config, { metrics, console }, logger, opened);
  if (role !== 'ingest' && database !== undefined) {
    const start = startOf(role, { config, ...database, queueLocation, destinations, observation, logger });
    await startWithDatabase(start, logger, working);
  }
  if (storesIn(role) && database !== undefined) {
    startSubscriptionWatch({ config, db: database.db, observation, logger }, opened);
  }
  const reportingUrl = database?.databaseUrl ?? config.databaseUrl;
  if (reportingUrl !== undefined) observation.startReport(reportingUrl, readiness, opened);
  return { port, adminPort, psqlArgument: database?.psqlArgument };
}

/** The parts of a role that need the database. They bring its tables up to date first. */
function startOf(role: Role, options: StoringOptions & ForwardingOptions): Start {
  const { config, databaseUrl, db, logger } = options;
  const { startSteps: steps } = options.observation;
  return async (started) => {
    const applied = await steps.run('migrations', () => migrateAll(config, databaseUrl, db));
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    if (storesIn(role)) {
      const watch = await steps.run('start of the worker', () => startStoring(options, started));
      options.observation.followArrivals(() => watch.latest());
    }
    if (forwardsIn(role)) {
      await steps.run('start of forwarding', () => startForwardings(options, started));
    }
    steps.done();
  };
}

/** Measures the queue: over the connection of this process, or over one for this purpose alone. */
function measureOf(
  queue: DeliveryQueue | undefined,
  location: QueueLocation,
  logger: Logger,
  opened: AsyncDisposableStack,
): () => Promise<QueueMeasure> {
  if (queue !== undefined) return () => queue.measure();
  const own = openBatchQueue(location, logger);
  opened.defer(closing(logger, 'connection that measures the queue', () => own.close()));
  return () => own.measure();
}

/** An ingest process needs a database only for the queue, or to keep deliveries until their rows are committed. */
function needsDatabase({ redisUrl, durability }: Config, role: Role): boolean {
  return role !== 'ingest' || redisUrl === undefined || durability === 'strict';
}

interface OpenServer {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly psqlArgument: string | undefined;
}

async function openServer(starting: Starting, opened: AsyncDisposableStack): Promise<OpenServer> {
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
  { config: { dataDir }, logger, onEmbedded }: Starting,
  opened: AsyncDisposableStack,
): Promise<EmbeddedPostgres> {
  const locking = lockEmbedded(dataDir);
  onEmbedded?.(locking.then(({ embedded }) => embedded));
  const { embedded, lock } = await locking;
  opened.defer(closing(logger, 'embedded Postgres', () => embedded.stop()));
  opened.defer(closing(logger, 'instance lock', () => lock.release()));
  return embedded;
}

async function lockEmbedded(dataDir: string) {
  const embedded = await startEmbeddedPostgres(dataDir);
  const lock = await embedded.lock();
  if (lock === undefined) {
    throw new UsageError(
      `Another xiq-sink serves on ${dataDir} already. Stop it first, or set DATA_DIR to another directory.`,
    );
  }
  return { embedded, lock };
}

interface QueueNeeds {
  readonly config: Config;
  readonly location: QueueLocation;
  readonly db: Db | undefined;
  readonly observation: Observation;
  readonly logger: Logger;
}

function openQueue(
  { config, location, db, observation, logger }: QueueNeeds,
  opened: AsyncDisposableStack,
): DeliveryQueue {
  const { dataDir, durability, spool } = config;
  const findStored =
    durability === 'strict' && db !== undefined
      ? (ids: readonly string[]) => findStoredDeliveries(db, ids)
      : undefined;
  const directory = path.join(dataDir, 'spool');
  const queue = openDeliveryQueue({
    location,
    spool: { directory, ...spool },
    findStored,
    onCommitted: observation.onCommitted,
    tracing: observation.traces,
    logger,
  });
  opened.defer(closing(logger, 'queue', () => queue.close()));
  observation.followQueue(queue);
  return queue;
}

function createIngest(
  config: Config,
  queue: DeliveryQueue,
  { traces }: Observation,
  health: HealthOptions,
): HttpListener {
  return createIngestServer({
    ...health,
    verifier: createSecretVerifier(config.sources),
    failedSecrets: createFailedSecrets(),
    admission: createAdmission({ ...config, logger: health.logger }),
    trustedProxies: config.trustedProxies,
    enqueue:
      traces === undefined
        ? (delivery) => queue.enqueue(delivery)
        : (delivery) => traces.receive(delivery, () => queue.enqueue(delivery)),
    maxBodyBytes: config.maxBodyBytes,
  });
}

interface WatchNeeds {
  readonly config: Config;
  readonly db: Db;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Watches the subscriptions of the sources that have an API. Started last: the cloud begins to send then. */
function startSubscriptionWatch(
  { config, db, observation, logger }: WatchNeeds,
  opened: AsyncDisposableStack,
): void {
  const { sources, publicUrl, subscribe } = config;
  if (sources.every(({ cloud }) => cloud === undefined)) return;
  if (publicUrl === undefined) {
    logger.info('PUBLIC_URL is not set: the subscriptions in the cloud are not checked');
    return;
  }
  const watch = watchSubscriptions({
    subscribers: createSubscribers({ sources, publicUrl, db, logger }),
    repairs: subscribe === 'auto',
    logger,
    clock: systemClock,
    onChecked: observation.onSubscriptionsChecked,
  });
  opened.defer(closing(logger, 'subscription watch', () => watch.stop()));
}
