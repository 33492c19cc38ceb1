import type { Logger } from 'pino';
import { destinationNames } from '../config/destinations.ts';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import { openStoringDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { maintainPartitions } from '../store/partitions.ts';
import { compactArrivals } from '../store/roll-up-arrivals.ts';
import { startDeliveryWorker } from '../queue/delivery-worker.ts';
import type { DeliveryWorker, StoreBatch } from '../queue/delivery-worker.ts';
import type { QueueLocation } from '../queue/engine.ts';
import type { SilenceWatch } from '../observe/silence-watch.ts';
import { logLostConnections } from './open-store.ts';
import type { Opened } from './opened.ts';
import { startArrivals } from './arrivals.ts';
import type { Observation } from './observation.ts';

/** What storing needs: the database as the tables are in it, and where the batches come from. */
export interface StoringOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly queueLocation: QueueLocation;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Months are created, retention is applied and old minutes of arrivals become hours this often. */
const MAINTENANCE_INTERVAL_MS = 60 * 60 * 1000;

/** Maintains the tables and starts to store. They must be up to date. Returns the watch for silences. */
export async function startStoring(options: StoringOptions, started: Opened): Promise<SilenceWatch> {
  await startMaintenance(options, started);
  const watch = startArrivals(options, started);
  const worker = startWorker(options, started);
  if (options.queueLocation.kind === 'postgres') await worker.ready;
  return watch;
}

function startWorker(
  { databaseUrl, queueLocation, observation, logger }: StoringOptions,
  started: Opened,
): DeliveryWorker {
  const giveUp = new AbortController();
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  started.push('database of the worker', () => db.destroy());
  const { onStored, traces } = observation;
  const store = createBatchStore(db, logger, giveUp.signal, onStored);
  const storeTraced: StoreBatch =
    traces === undefined ? store : (batch) => traces.store(batch.deliveries, () => store(batch));
  const worker = startDeliveryWorker(queueLocation, storeTraced, logger, traces?.telemetry);
  started.push('worker', () => {
    giveUp.abort();
    return worker.close();
  });
  return worker;
}

/** Maintains the tables now, so that the first row finds its month, and from then on every hour. */
async function startMaintenance({ config, db, logger }: StoringOptions, started: Opened): Promise<void> {
  const maintain = async () => {
    const destinations = destinationNames(config.forwarding);
    const { retentionMonths } = config;
    const report = await maintainPartitions(db, new Date(), retentionMonths, destinations);
    const { created, dropped, held, missed, inDefault } = report;
    if (created.length > 0) logger.info(`${created.length} month partitions created`);
    if (dropped.length > 0) logger.info({ dropped }, 'retention dropped partitions');
    for (const behind of held) {
      logger.warn(
        behind,
        `retention waits: destination ${behind.destination} has not had all of ${behind.partition}`,
      );
    }
    for (const behind of missed) {
      logger.warn(
        behind,
        `retention dropped ${behind.partition}, of which ${behind.destination} has not had all`,
      );
    }
    for (const { partition, rows } of inDefault) {
      logger.warn({ partition, rows }, 'events lie outside every month that has a partition');
    }
    await compactArrivals(db, new Date());
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
