import path from 'node:path';
import type { Logger } from 'pino';
import { maskConfig, type Config, type SourceConfig } from '../config.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { UsageError } from '../errors.ts';
import { createAdmission } from '../ingest/admission.ts';
import { createFailedSecrets } from '../failed-secrets.ts';
import type { HttpListener } from '../ingest/http-listener.ts';
import { createHealthServer, createIngestServer, type HealthOptions } from '../ingest/ingest-server.ts';
import { createReadiness } from '../observe/readiness.ts';
import { readTlsFiles } from '../ingest/tls-files.ts';
import { createSourceRates } from '../ingest/source-rates.ts';
import { createSecretVerifier } from '../ingest/verify-secret.ts';
import { openBatchQueue, type QueueMeasure } from '../queue/batch-queue.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { openFairQueue } from '../queue/fair-queue.ts';
import { createIdentity } from '../queue/installation.ts';
import { checkDatabase, openDatabase, type Db } from '../store/database.ts';
import { continueOnThisServer } from '../store/extend-log.ts';
import { locateDeliveries } from '../store/wal-position.ts';
import { createConsole } from './console.ts';
import { startIndexBuilding } from './maintenance.ts';
import { locateQueue, logLostConnections, prepareTables } from './open-store.ts';
import { forwardsIn, receivesIn, storesIn, type Role } from './roles.ts';
import { startAlerting } from './alerting.ts';
import type { PartOptions } from './background.ts';
import { startForwardings } from './forwarding.ts';
import { checksOf } from './readiness-checks.ts';
import { startReporting } from './scheduled-reports.ts';
import { startObserving, type Observation } from './observation.ts';
import { recordStart } from './record-start.ts';
import { startProving, startSequencing } from './ledger.ts';
import { startStoring, type StoringOptions } from './storing.ts';
import { followSources } from './follow-sources.ts';
import { createLiveSettings, reloadRecorded, type LiveSettings } from './live-settings.ts';
import { startSubscriptionWatch } from './subscription-watch.ts';
import { startWithDatabase, type Start } from './start-with-database.ts';
import { closing } from './closing.ts';
import { startHistorySweep } from './history.ts';
import { startInventory } from './inventory.ts';
import { startAdminListener, startListener } from './listeners.ts';
import type { ServiceConfig } from './load-settings.ts';
import { completeSecrets, readSecrets, type SourceSecrets } from './webhook-secret.ts';

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
  /** Asks proxies to go elsewhere: readiness ends, and every answer ends its connection. Everything still works. */
  drain(): void;
  /** Reads the settings again after this signal; what is wrong is logged. Records it in the operator log. */
  reload(signal: NodeJS.Signals): Promise<void>;
  /** Accepts no more deliveries, finishes those in progress, closes everything. */
  stop(): Promise<void>;
}

interface StartOptions {
  /** Ends the start: what waits is cancelled, everything is closed, and the error is the signal's reason. */
  readonly signal: AbortSignal;
  /** Reads the settings again, for a reload. Throws a UsageError if one is wrong. */
  readonly reread?: () => Promise<ServiceConfig>;
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
  options: StartOptions,
): Promise<Service> {
  if (role === 'ingest' && given.durability === 'strict' && given.databaseUrl === undefined) {
    throw new UsageError(
      'DURABILITY=strict needs DATABASE_URL: deliveries are kept until they are stored there',
    );
  }
  const secrets = receivesIn(role) ? await completeSecrets(given) : undefined;
  const sources = secrets?.sources ?? (await readSecrets(given));
  const live = createLiveSettings({
    given: { ...given, sources },
    reread: options.reread ?? (async () => given),
    complete: async (next) => (receivesIn(role) ? (await completeSecrets(next)).sources : readSecrets(next)),
    logger,
  });
  const { config } = live;
  live.follow('log', () => {
    logger.level = config.logLevel;
  });
  logger.info({ ...maskConfig(config), role }, 'starting');
  const draining = new AbortController();
  await using opened = new AsyncDisposableStack();
  const starting = { config, live, secrets, role, logger, draining: draining.signal, ...options };
  const { db, ...started } = await startParts(starting, opened).catch((error: unknown) => {
    options.signal.throwIfAborted();
    throw error;
  });
  const running = opened.move();
  return {
    ...started,
    sources,
    secrets,
    drain: () => draining.abort(),
    reload: (signal) => reloadRecorded(live, db, signal, logger),
    stop: () => running.disposeAsync(),
  };
}

interface Starting extends StartOptions {
  readonly live: LiveSettings;
  /** The settings in force. */
  readonly config: ServiceConfig;
  readonly secrets: SourceSecrets | undefined;
  readonly role: Role;
  readonly logger: Logger;
  readonly draining: AbortSignal;
}

/**
 * Starts what the role needs. Deliveries are accepted before everything else, even if queue and database are down: they
 * are spooled then. Storing is closed last, so that it finishes what was accepted.
 */
async function startParts(
  starting: Starting,
  opened: AsyncDisposableStack,
): Promise<Pick<Service, 'port' | 'adminPort' | 'psqlArgument'> & { readonly db: Db | undefined }> {
  const { config, live, secrets, role, logger, draining, signal } = starting;
  const database = needsDatabase(config, role) ? await openServer(starting, opened) : undefined;
  const working = opened.use(new AsyncDisposableStack());
  // Only a worker reads the installation in its database; an ingest process knows the mark that it saw first.
  const identity = createIdentity(config.dataDir, database !== undefined && storesIn(role));
  const queueLocation = locateQueue(config, database?.databaseUrl ?? '', identity);
  const db = database?.db;
  const observation = await startObserving({ config, role, db, logger }, opened);
  const queue = receivesIn(role)
    ? openQueue({ config, location: queueLocation, db, observation, logger }, opened)
    : undefined;
  const hasConsole = role === 'all' || role === 'console';
  const measure = storesIn(role) || hasConsole ? measureOf(queue, queueLocation, logger, opened) : undefined;
  const readiness = createReadiness(
    checksOf({ role, db, queue, isQueueStored: config.redisUrl === undefined, measure, observation }),
    logger,
  );
  const health: HealthOptions = {
    readiness: {
      ask: async () => (draining.aborted ? STOPPING : readiness.ask()),
    },
    observer: observation.ingest,
    tls: config.tls === undefined ? undefined : readTlsFiles(config.tls),
    logger,
  };
  const reportingUrl = database?.databaseUrl ?? config.databaseUrl;
  await followSources({ live, databaseUrl: reportingUrl, role, logger }, opened);
  const listener =
    queue === undefined ? createHealthServer(health) : createIngest({ live, queue, observation, health });
  const port = await startListener(config, listener, draining, logger, opened);
  const console =
    hasConsole && database !== undefined && measure !== undefined
      ? createConsole(
          {
            live,
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
  if (console !== undefined) observation.addPool('console', () => checkDatabase(console.db), opened);
  const metrics = () => observation.metrics.render();
  const adminPort = await startAdminListener(config, { metrics, console, draining }, logger, opened);
  if (role !== 'ingest' && database !== undefined) {
    const start = startOf(role, { config, live, ...database, queueLocation, observation, logger });
    await startWithDatabase(start, logger, signal, working);
  }
  if (storesIn(role) && database !== undefined) {
    await startSubscriptionWatch({ live, db: database.db, observation, logger }, opened);
  }
  if (reportingUrl !== undefined) observation.startReport(reportingUrl, readiness, opened);
  return { port, adminPort, psqlArgument: database?.psqlArgument, db };
}

/** The readiness of a process that drains. */
const STOPPING = { status: 'unavailable', checks: { process: 'stopping' } } as const;

/** The parts of a role that need the database. They bring its tables up to date first, or check them. */
function startOf(role: Role, options: StoringOptions & PartOptions): Start {
  const { config, databaseUrl, db, logger } = options;
  const { startSteps: steps } = options.observation;
  return async (started, signal) => {
    const applied = await steps.run('migrations', () => prepareTables(config, databaseUrl, db, signal));
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    await recordStart(db, config, role);
    signal.throwIfAborted();
    await steps.run('continuing the log', () => continueOnThisServer(db));
    startSequencing(options, started);
    if (storesIn(role)) {
      if (config.migrates) startIndexBuilding({ config, databaseUrl, db, logger }, started);
      const watch = await steps.run('start of the worker', () => startStoring(options, started));
      options.observation.followArrivals(() => watch.latest());
      startHistorySweep(options, started);
      startInventory(options, started);
      startProving(options, started);
    }
    signal.throwIfAborted();
    if (forwardsIn(role)) {
      await steps.run('start of forwarding', () => startForwardings(options, started));
      startAlerting(options, started);
      startReporting(options, started);
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
  { config: { dataDir }, logger, signal, onEmbedded }: Starting,
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
  const { dataDir, databaseUrl, durability, spool, strict } = config;
  const findStored =
    durability === 'strict' && db !== undefined
      ? (ids: readonly string[]) => locateDeliveries(db, ids, strict.replicas)
      : undefined;
  const directory = path.join(dataDir, 'spool');
  const queue = openFairQueue({
    location,
    countSources: () => config.sources.length,
    spool: { directory, ...spool },
    findStored,
    // No other server takes over from the embedded one.
    keepMs: databaseUrl === undefined ? 0 : strict.keepMs,
    onCommitted: observation.onCommitted,
    tracing: observation.traces,
    logger,
  });
  opened.defer(closing(logger, 'queue', () => queue.close()));
  observation.followQueue(queue);
  return queue;
}

const limitsOf = (sources: readonly SourceConfig[]) =>
  new Map(sources.map(({ name, limits }) => [name, limits]));

interface IngestNeeds {
  readonly live: LiveSettings;
  readonly queue: DeliveryQueue;
  readonly observation: Observation;
  readonly health: HealthOptions;
}

function createIngest({ live, queue, observation, health }: IngestNeeds): HttpListener {
  const { config } = live;
  const { traces } = observation;
  const verifier = createSecretVerifier(config.sources);
  let limits = limitsOf(config.sources);
  live.follow('ingest', () => {
    verifier.use(config.sources);
    limits = limitsOf(config.sources);
  });
  return createIngestServer({
    ...health,
    verifier,
    knowsSources: live.knowsStored,
    failedSecrets: createFailedSecrets(),
    admission: createAdmission({
      ...config,
      rates: createSourceRates((source) => limits.get(source), health.logger),
      logger: health.logger,
    }),
    trustedProxies: config.trustedProxies,
    storesOthers: config.storesOthers,
    enqueue:
      traces === undefined
        ? (delivery) => queue.enqueue(delivery)
        : (delivery) => traces.receive(delivery, () => queue.enqueue(delivery)),
    maxBodyBytes: config.maxBodyBytes,
  });
}
