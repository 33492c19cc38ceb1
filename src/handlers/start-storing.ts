import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { BatchStore } from './store-batch.ts';
import { startDeliveryWorker, type DeliveryWorker } from './delivery-worker.ts';
import { Company } from './run-alone.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import type { QueueLocation } from '../queue/engine.ts';
import type { Lane } from '../queue/lanes.ts';
import type { NearWorker } from '../queue/near-worker.ts';
import { checkDatabase, openPartDatabase, type Db } from '../store/server/database.ts';
import { claimQueue } from '../queue/claim-queue.ts';
import { closeLogged } from '../lib/close-logged.ts';

interface StoringObserver {
  readonly deliveries: DeliveryObserver;
  /** Adds connections that do work, until they are closed. */
  addPool(name: string, check: () => Promise<void>, closed: AsyncDisposableStack): void;
}

export interface StoringOptions {
  readonly config: Pick<Config, 'erasureKeyFile'>;
  readonly databaseUrl: string;
  readonly db: Db;
  readonly queueLocation: QueueLocation;
  readonly observation: StoringObserver;
  readonly logger: Logger;
}

/**
 * Transactions of ordinary deliveries at a time: while Postgres stores two, the events of the next are made. With 20
 * records a delivery this stores 1.3 times as much as one at a time, and the backlog of a full load is gone at its end
 * instead of 10 s later. Large deliveries take turns one by one.
 */
const TRANSACTIONS = { ordinary: 3, bulk: 1 };

/** Starts to store what the queue has. The tables must be up to date. Resolves with the worker of the ordinary lane. */
export async function startStoring(
  options: StoringOptions,
  started: AsyncDisposableStack,
): Promise<NearWorker> {
  await claimQueue(options);
  const company = new Company();
  const ordinary = startWorker('ordinary', company, options, started);
  const bulk = startWorker('bulk', company, options, started);
  if (options.queueLocation.kind === 'postgres') await Promise.all([ordinary.ready, bulk.ready]);
  return ordinary;
}

/** Each lane has its own transactions and connections: neither lane waits for the other. */
function startWorker(
  lane: Lane,
  company: Company,
  { config, databaseUrl, queueLocation, observation, logger }: StoringOptions,
  started: AsyncDisposableStack,
): DeliveryWorker {
  const giveUp = new AbortController();
  const db = openPartDatabase('the worker', 'storing', { databaseUrl, logger }, started);
  observation.addPool(lane === 'bulk' ? 'storing (bulk)' : 'storing', () => checkDatabase(db), started);
  const observer = observation.deliveries;
  const { erasureKeyFile } = config;
  const options = { lane, observer, erasureKeyFile, atOnce: TRANSACTIONS[lane] };
  const store = new BatchStore(db, logger, giveUp.signal, options);
  const worker = startDeliveryWorker(queueLocation, store, logger, { lane, observer, company });
  const close = () => {
    giveUp.abort();
    return worker.close();
  };
  started.defer(closeLogged(logger, 'worker', close));
  return worker;
}
