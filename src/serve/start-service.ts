import type { Logger } from 'pino';
import { maskConfig, type Config, type SourceConfig } from '../config.ts';
import type { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { UsageError } from '../errors.ts';
import { createHealthServer, type HealthOptions } from '../ingest/ingest-server.ts';
import { readTlsFiles } from '../ingest/tls-files.ts';
import { createReadiness } from '../observe/readiness.ts';
import { createIdentity } from '../queue/installation.ts';
import { checkDatabase, type Db } from '../store/database.ts';
import { createConsole } from './console.ts';
import { createIngest } from './create-ingest.ts';
import { followSources } from './follow-sources.ts';
import { startAdminListener, startListener } from './listeners.ts';
import { createLiveSettings, reloadRecorded, type LiveSettings } from './live-settings.ts';
import type { ServiceConfig } from './load-settings.ts';
import { startObserving } from './observation.ts';
import { measureOf, openQueue } from './open-queue.ts';
import { openServer } from './open-server.ts';
import { locateQueue } from './open-store.ts';
import { checksOf } from './readiness-checks.ts';
import { receivesIn, storesIn, type Role } from './roles.ts';
import { startOf } from './start-of-role.ts';
import { startWithDatabase } from './start-with-database.ts';
import { startSubscriptionWatch } from './subscription-watch.ts';
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

/** An ingest process needs a database only for the queue, or to keep deliveries until their rows are committed. */
function needsDatabase({ redisUrl, durability }: Config, role: Role): boolean {
  return role !== 'ingest' || redisUrl === undefined || durability === 'strict';
}
