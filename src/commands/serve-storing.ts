import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import { startDeliveryWorker } from '../queue/delivery-worker.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { openStoringDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { classifyFailure } from '../store/failure.ts';
import type { FailureKind } from '../store/failure.ts';
import { maintainPartitions } from '../store/partitions.ts';
import { logLostConnections, migrateAll } from './open-store.ts';
import { createOpened } from './opened.ts';
import type { Opened } from './opened.ts';

/** What storing needs: the database as the tables are in it, and where the batches come from. */
export interface StoringOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly queueLocation: QueueLocation;
  readonly logger: Logger;
}

/** Months are created and retention is applied this often. */
const MAINTENANCE_INTERVAL_MS = 60 * 60 * 1000;

/** A database that is away at the start is tried again this often. */
const RETRY_INTERVAL_MS = 2_000;

/**
 * Brings the tables up to date, maintains the partitions and starts to store. A database that is away is waited for,
 * in the background, because deliveries must be taken meanwhile: then this resolves before anything is stored.
 * Throws when the database answers and refuses, which no waiting mends.
 */
export async function startStoring(options: StoringOptions, opened: Opened): Promise<void> {
  const { logger } = options;
  const started = createOpened(logger);
  const stopping = new AbortController();
  let background = Promise.resolve();
  opened.push('storing', async () => {
    stopping.abort();
    await background;
    await started.closeAll();
  });
  if (await tryToStart(options, started)) return;
  background = keepTrying(options, started, stopping.signal);
}

async function keepTrying(options: StoringOptions, started: Opened, signal: AbortSignal): Promise<void> {
  const { logger } = options;
  while (!signal.aborted) {
    await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (!(await tryToStart(options, started))) continue;
      logger.info('the database answers: storing has begun');
      return;
    } catch (error) {
      logger.error({ err: error }, `the database refuses: ${describeError(error)}`);
    }
  }
}

/** False when the database is away. */
async function tryToStart(options: StoringOptions, started: Opened): Promise<boolean> {
  const { config, databaseUrl, db, logger } = options;
  try {
    const applied = await migrateAll(config, databaseUrl, db);
    if (applied.length > 0) logger.info({ applied }, 'database migrated');
    await startMaintenance(options, started);
  } catch (error) {
    await started.closeAll();
    if (!isAway(error)) throw error;
    logger.warn(`the database is away, deliveries wait for it: ${describeError(error)}`);
    return false;
  }
  startWorker(options, started);
  return true;
}

/** What time or somebody else mends. A refusal (credentials, name, rights) is for the person who starts this. */
const AWAY: ReadonlySet<FailureKind> = new Set([
  'connection lost',
  'database read-only',
  'disk full',
  'too many connections',
  'statement time-out',
]);

/** The migrator and BullMQ wrap what the connection reported. */
function isAway(error: unknown): boolean {
  if (AWAY.has(classifyFailure(error))) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
}

function startWorker({ databaseUrl, queueLocation, logger }: StoringOptions, started: Opened): void {
  const giveUp = new AbortController();
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  started.push('database of the worker', () => db.destroy());
  const worker = startDeliveryWorker(queueLocation, createBatchStore(db, logger, giveUp.signal), logger);
  started.push('worker', () => {
    giveUp.abort();
    return worker.close();
  });
}

/** Maintains the partitions now, so that the first row finds its month, and from then on every hour. */
async function startMaintenance({ config, db, logger }: StoringOptions, started: Opened): Promise<void> {
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
  started.push('maintenance', async () => {
    clearInterval(timer);
    await running;
  });
}
