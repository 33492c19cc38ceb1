import path from 'node:path';
import type { Logger } from 'pino';
import { maskConfig, type Config, type SourceConfig } from '../config/config.ts';
import { receivesIn, storesIn, type Role } from '../config/roles.ts';
import type { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { Admission } from '../ingest/admission.ts';
import { createFailedSecrets } from '../ingest/failed-secrets.ts';
import type { HttpListener } from '../ingest/http-listener.ts';
import { createHealthServer, createIngestServer, type HealthOptions } from '../ingest/ingest-server.ts';
import { createSourceRates } from '../ingest/source-rates.ts';
import { readTlsFiles } from '../ingest/tls-files.ts';
import { SecretVerifier } from '../ingest/verify-secret.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { UsageError } from '../lib/errors.ts';
import { openDataDirectory } from '../lib/files/data-directory.ts';
import { checksOf } from '../observe/readiness-checks.ts';
import { createReadiness } from '../observe/readiness.ts';
import { openBatchQueue, type QueueMeasure } from '../queue/batch-queue.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { openFairQueue, type FairQueue } from '../queue/fair-queue.ts';
import { InstallationMemory } from '../queue/installation.ts';
import { witnessedKeys } from '../seal/cosignature.ts';
import { logKeyFileOf, readLogKeys } from '../seal/log-key.ts';
import { createWitness } from '../seal/witness.ts';
import { followSources } from '../sources/follow-sources.ts';
import { completeSecrets, readSecrets, type SourceSecrets } from '../sources/webhook-secret.ts';
import { locateDeliveries } from '../store/deliveries/deliveries.ts';
import { checkDatabase, type Db } from '../store/server/database.ts';
import { listenForHints } from '../store/server/hints.ts';
import { startSubscriptionWatch } from '../subscribe/start-subscription-watch.ts';
import { createConsole } from './console.ts';
import { startAdminListener, startListener } from './listeners.ts';
import { createLiveSettings, reloadRecorded, type LiveSettings } from './live-settings.ts';
import type { ServiceConfig } from './load-settings.ts';
import { startObserving, type Observation } from './observation.ts';
import { openServer, type RunStep } from './open-server.ts';
import { locateQueue } from './open-store.ts';
import { startRoleParts } from './start-role-parts.ts';
import { startWithDatabase } from './start-with-database.ts';

export interface Service {
  readonly sources: readonly SourceConfig[];
  /** The generated secret, if a source uses it. Undefined in a role that accepts no deliveries. */
  readonly secrets: SourceSecrets | undefined;
  /** The port for deliveries, or for health checks alone. */
  readonly port: number;
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
  readonly reread?: () => Promise<ServiceConfig>;
  /** Called with the embedded database as soon as it is starting, so that it can be stopped whatever happens. */
  readonly onEmbedded?: (server: Promise<EmbeddedPostgres>) => void;
  readonly runStep: RunStep;
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
  await openDataDirectory(given.dataDir);
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
  logger.debug({ ...maskConfig(config), role }, 'starting');
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
  const { config, live, secrets, role, logger, draining, signal, runStep } = starting;
  const database = needsDatabase(config, role) ? await openServer(starting, opened) : undefined;
  const working = opened.use(new AsyncDisposableStack());
  // Only a worker reads the installation in its database; an ingest process knows the mark that it saw first.
  const installation = new InstallationMemory(config.dataDir, database !== undefined && storesIn(role));
  const queueLocation = locateQueue(config, database?.databaseUrl ?? '', installation);
  const db = database?.db;
  const observation = await startObserving({ config, role, db, logger }, opened);
  const queue = receivesIn(role)
    ? openQueue({ config, location: queueLocation, db, observation, logger }, opened)
    : undefined;
  const hasConsole = role === 'all' || role === 'console';
  const measure = storesIn(role) || hasConsole ? measureOf(queue, queueLocation, logger, opened) : undefined;
  const readiness = createReadiness(checksOf({ role, db, queue, measure, config, observation }), logger);
  const health: HealthOptions = {
    readiness: {
      ask: async () => (draining.aborted ? STOPPING : readiness.ask()),
    },
    observer: observation.deliveries,
    tls: config.tls === undefined ? undefined : readTlsFiles(config.tls),
    logger,
    witness: db === undefined ? undefined : openWitness(config, role, db),
  };
  const reportingUrl = database?.databaseUrl ?? config.databaseUrl;
  if (reportingUrl !== undefined) listenForHints(config.databaseDirectUrl ?? reportingUrl, logger, opened);
  const { useStored, refresh, follow, knowsStored, names: allNames } = live;
  const following = { dataDir: config.dataDir, useStored, refresh, databaseUrl: reportingUrl, role, logger };
  await followSources(following, opened);
  const listener = queue === undefined ? createHealthServer(health) : createIngest(live, queue, health);
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
    const start = startRoleParts(role, { live, ...database, queueLocation, queue, observation, logger });
    await runStep('Preparing the tables', () => startWithDatabase(start, logger, signal, working));
  }
  if (storesIn(role) && database !== undefined) {
    const { onSubscriptionsChecked: onChecked } = observation;
    await startSubscriptionWatch(
      { db: database.db, config, follow, knowsStored, allNames, onChecked, logger },
      opened,
    );
  }
  if (reportingUrl !== undefined) observation.startReport(reportingUrl, readiness, opened);
  return { port, adminPort, psqlArgument: database?.psqlArgument, db };
}

const STOPPING = { status: 'unavailable', checks: { process: 'stopping' } } as const;

/** An ingest process needs a database only for the queue, or to keep deliveries until their rows are committed. */
function needsDatabase({ redisUrl, durability }: Config, role: Role): boolean {
  return role !== 'ingest' || redisUrl === undefined || durability === 'strict';
}

interface QueueNeeds {
  readonly config: Config;
  readonly location: QueueLocation;
  readonly db: Db | undefined;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Opens the queue of a process that accepts deliveries, with its spool. */
function openQueue({ config, location, db, observation, logger }: QueueNeeds, opened: AsyncDisposableStack) {
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
    observer: observation.deliveries,
    logger,
  });
  opened.defer(closeLogged(logger, 'queue', () => queue.close()));
  observation.followQueue(queue);
  return queue;
}

/** Measures the queue: over the connection of this process, or over one for this purpose alone. */
function measureOf(
  queue: FairQueue | undefined,
  location: QueueLocation,
  logger: Logger,
  opened: AsyncDisposableStack,
): () => Promise<QueueMeasure> {
  if (queue !== undefined) return () => queue.measure();
  const own = openBatchQueue(location, logger);
  opened.defer(closeLogged(logger, 'connection that measures the queue', () => own.close()));
  return () => own.measure();
}

/** The witness of other installations is where checkpoints are signed, so that no other process needs the key. */
function openWitness(config: Config, role: Role, db: Db): HealthOptions['witness'] {
  const logs = witnessedKeys(config);
  if (!storesIn(role) || logs.length === 0) return undefined;
  return createWitness(db, logs, async () => (await readLogKeys(logKeyFileOf(config))).signing);
}

const limitsOf = (sources: readonly SourceConfig[]) =>
  new Map(sources.map(({ name, limits }) => [name, limits]));

/** Creates the server that accepts deliveries. Secrets and limits of sources follow the settings. */
function createIngest(live: LiveSettings, queue: FairQueue, health: HealthOptions): HttpListener {
  const { config } = live;
  const verifier = new SecretVerifier(config.sources);
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
    admission: new Admission({
      ...config,
      rates: createSourceRates((source) => limits.get(source), health.logger),
      logger: health.logger,
    }),
    trustedProxies: config.trustedProxies,
    storesOthers: config.storesOthers,
    queue,
    maxBodyBytes: config.maxBodyBytes,
  });
}
