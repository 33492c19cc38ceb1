import path from 'node:path';
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import { maskConfig } from '../config.ts';
import type { Config } from '../config.ts';
import type { SourceConfig } from '../config.ts';
import { UsageError } from '../errors.ts';
import { parseDestinations } from '../forward/parse-destinations.ts';
import { createAdmission } from '../ingest/admission.ts';
import { createFailedSecrets } from '../ingest/failed-secrets.ts';
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
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { takeInstanceLock } from '../embedded/instance-lock.ts';
import { watchSubscriptions } from '../subscribe/watch.ts';
import { createConsole } from './console.ts';
import { locateQueue, logLostConnections, migrateAll } from './open-store.ts';
import { createOpened } from './opened.ts';
import type { Opened } from './opened.ts';
import { forwardsIn, receivesIn, storesIn } from './roles.ts';
import type { Role } from './roles.ts';
import { startAdmin } from './admin-listener.ts';
import { startForwardings } from './forwarding.ts';
import type { ForwardingOptions } from './forwarding.ts';
import { checksOf } from './readiness-checks.ts';
import { startObserving } from './observation.ts';
import type { Observation } from './observation.ts';
import { startStoring } from './storing.ts';
import type { StoringOptions } from './storing.ts';
import { followCertificate } from './follow-certificate.ts';
import { startWithDatabase } from './start-with-database.ts';
import type { Start } from './start-with-database.ts';
import { createSubscribers } from '../subscribe/create-subscribers.ts';
import { completeSecrets } from './webhook-secret.ts';
import type { SourceSecrets } from './webhook-secret.ts';

/** The running service. */
export interface Service {
  /** What deliveries must carry; none in a role that takes no deliveries. */
  readonly secrets: SourceSecrets | undefined;
  /** Where it listens: for deliveries, or for questions about its health alone. */
  readonly port: number;
  /** Where console, API and metrics are. */
  readonly adminPort: number;
  /** What a person gives to psql; only of the embedded database. */
  readonly readerUrl: string | undefined;
  /** Takes nothing new, finishes what was taken, closes. */
  stop(): Promise<void>;
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

/**
 * Starts what the role needs. Deliveries are taken first of all, whether or not queue and database answer: what
 * nobody can take is kept in the spool. What stores is closed last, so that it finishes what was taken.
 */
async function startParts(
  config: Config,
  role: Role,
  logger: Logger,
  opened: Opened,
): Promise<Omit<Service, 'stop'>> {
  if (role === 'ingest' && config.durability === 'strict' && config.databaseUrl === undefined) {
    throw new UsageError(
      'DURABILITY strict needs DATABASE_URL: deliveries are kept until their rows are there',
    );
  }
  const destinations = parseDestinations(config.forwarding);
  const database = needsDatabase(config, role) ? await openServer(config, logger, opened) : undefined;
  const working = createOpened(logger);
  opened.push('what works on the database', () => working.closeAll());
  const queueLocation = locateQueue(config, database?.databaseUrl ?? '');
  const secrets = receivesIn(role) ? await completeSecrets(config) : undefined;
  const db = database?.db;
  const observation = await startObserving({ config, role, db, destinations, logger }, opened);
  const queue = receivesIn(role)
    ? openQueue({ config, location: queueLocation, db, observation, logger }, opened)
    : undefined;
  const readiness = createReadiness(checksOf({ role, db, queue, observation }), logger);
  const health: HealthOptions = {
    readiness,
    observer: observation.ingest,
    tls: config.tls === undefined ? undefined : readTlsFiles(config.tls),
    logger,
  };
  const server =
    secrets === undefined || queue === undefined
      ? createHealthServer(health)
      : createIngest(config, secrets, queue, observation, health);
  const port = await listen(config, server, logger, opened);
  const hasConsole = role === 'all' || role === 'console';
  const adminPort = await startAdmin(
    config,
    {
      metrics: () => observation.metrics.render(),
      console:
        hasConsole && database !== undefined
          ? createConsole(
              {
                config,
                sources: secrets?.sources ?? config.sources,
                databaseUrl: database.databaseUrl,
                logger,
                readiness: () => readiness.describe(),
                queue: measureOf(queue, queueLocation, logger, opened),
                watched: storesIn(role) ? observation.arrivals : undefined,
              },
              opened,
            )
          : undefined,
    },
    logger,
    opened,
  );
  if (role !== 'ingest' && database !== undefined) {
    const start = startOf(role, { config, ...database, queueLocation, destinations, observation, logger });
    await startWithDatabase(start, logger, working);
  }
  if (storesIn(role) && database !== undefined) {
    const sources = secrets?.sources ?? config.sources;
    startSubscriptionWatch({ config, sources, db: database.db, observation, logger }, opened);
  }
  const reportingUrl = database?.databaseUrl ?? config.databaseUrl;
  if (reportingUrl !== undefined) observation.startReport(reportingUrl, opened);
  return { secrets, port, adminPort, readerUrl: database?.readerUrl };
}

/** What a role does on the database: brings the tables up to date first, and forwards what is stored. */
function startOf(role: Role, options: StoringOptions & ForwardingOptions): Start {
  const { config, databaseUrl, db, logger } = options;
  return async (started) => {
    const applied = await migrateAll(config, databaseUrl, db);
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    if (storesIn(role)) {
      const watch = await startStoring(options, started);
      options.observation.followArrivals(() => watch.latest());
    }
    if (forwardsIn(role)) await startForwardings(options, started);
  };
}

/** Asks the queue how full it is: by the way in that this process has, or by one of its own. */
function measureOf(
  queue: DeliveryQueue | undefined,
  location: QueueLocation,
  logger: Logger,
  opened: Opened,
): () => Promise<QueueMeasure> {
  if (queue !== undefined) return () => queue.measure();
  const own = openBatchQueue(location, logger);
  opened.push('queue of the console', () => own.close());
  return () => own.measure();
}

/** An ingest process needs none, unless its queue is there or it keeps deliveries until their rows are committed. */
function needsDatabase({ redisUrl, durability }: Config, role: Role): boolean {
  return role !== 'ingest' || redisUrl === undefined || durability === 'strict';
}

interface OpenServer {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly readerUrl: string | undefined;
}

async function openServer(config: Config, logger: Logger, opened: Opened): Promise<OpenServer> {
  const { databaseUrl, readerUrl } =
    config.databaseUrl === undefined
      ? await startEmbedded(config, opened)
      : { databaseUrl: config.databaseUrl, readerUrl: undefined };
  const db = openDatabase(databaseUrl, logLostConnections(logger));
  opened.push('database', () => db.destroy());
  return { db, databaseUrl, readerUrl };
}

async function startEmbedded({ dataDir }: Config, opened: Opened): Promise<Omit<OpenServer, 'db'>> {
  const embedded = await startEmbeddedPostgres(dataDir);
  const lock = await takeInstanceLock(embedded.databaseUrl);
  if (lock === undefined) {
    throw new UsageError(
      `another xiq-sink serves on ${dataDir} already: stop it first, or set DATA_DIR to a directory of its own`,
    );
  }
  opened.push('embedded Postgres', () => embedded.stop());
  opened.push('instance lock', () => lock.release());
  return embedded;
}

interface QueueNeeds {
  readonly config: Config;
  readonly location: QueueLocation;
  readonly db: Db | undefined;
  readonly observation: Observation;
  readonly logger: Logger;
}

function openQueue({ config, location, db, observation, logger }: QueueNeeds, opened: Opened): DeliveryQueue {
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
  opened.push('queue', () => queue.close());
  observation.followQueue(queue);
  return queue;
}

function createIngest(
  config: Config,
  secrets: SourceSecrets,
  queue: DeliveryQueue,
  { traces }: Observation,
  health: HealthOptions,
): HttpListener {
  return createIngestServer({
    ...health,
    verifier: createSecretVerifier(secrets.sources),
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

/** Watches the subscriptions of the sources that have an API: last of all, for the cloud then begins to send. */
function startSubscriptionWatch(
  {
    config: { publicUrl, subscribe },
    sources,
    db,
    observation,
    logger,
  }: {
    readonly config: Config;
    readonly sources: readonly SourceConfig[];
    readonly db: Db;
    readonly observation: Observation;
    readonly logger: Logger;
  },
  opened: Opened,
): void {
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
  opened.push('subscription watch', () => watch.stop());
}

async function listen(config: Config, server: HttpListener, logger: Logger, opened: Opened): Promise<number> {
  const port = await server.listen(config.port, config.host);
  opened.push('listener', () => server.close());
  if (config.tls !== undefined) followCertificate(config.tls, server, logger, opened);
  return port;
}
