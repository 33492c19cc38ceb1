/** The thread that stores the deliveries of one lane, with connections, transactions and traces of its own. */
import { parentPort } from 'node:worker_threads';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { describeError } from '../errors.ts';
import { createBatchStore } from '../handlers/store-batch.ts';
import { createLogger } from '../logger.ts';
import { startTraces } from '../observe/traces.ts';
import type { Traces } from '../observe/traces.ts';
import { sumStored } from '../observe/sum-stored.ts';
import { startDeliveryWorker } from '../queue/delivery-worker.ts';
import type { StoreBatch } from '../queue/delivery-worker.ts';
import type { QueueLocation } from '../queue/engine.ts';
import { createIdentity } from '../queue/installation.ts';
import { checkDatabase, openStoringDatabase } from '../store/database.ts';
import type { Db } from '../store/database.ts';
import { yieldProcessor } from '../yield-processor.ts';
import { closing } from './closing.ts';
import { logLostConnections } from './open-store.ts';
import type { LaneReport, LaneRequest, LaneSettings } from './start-lane.ts';

const report = (message: LaneReport) => parentPort?.postMessage(message);

interface Running {
  readonly db: Db;
  readonly logger: Logger;
  readonly opened: AsyncDisposableStack;
}

let running: Promise<Running> | undefined;

parentPort?.on('message', (request: LaneRequest) => {
  if (request.kind === 'start') {
    running = start(request.settings);
    running.then(() => report({ kind: 'ready' }), fail);
  } else {
    running?.then((parts) => answer(request, parts)).catch(() => undefined);
  }
});

function fail(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  report({ kind: 'failed', message: describeError(error), code });
  parentPort?.close();
}

function answer(request: Exclude<LaneRequest, { kind: 'start' }>, { db, logger, opened }: Running): void {
  switch (request.kind) {
    case 'level':
      logger.level = request.level;
      return;
    case 'probe':
      checkDatabase(db).then(
        () => report({ kind: 'probed', problem: undefined }),
        (error: unknown) => report({ kind: 'probed', problem: describeError(error) }),
      );
      return;
    case 'stop':
      // Without its port the thread has nothing left to wait for, and ends.
      void opened.disposeAsync().finally(() => parentPort?.close());
  }
}

async function start(settings: LaneSettings): Promise<Running> {
  const { lane, databaseUrl, logLevel } = settings;
  if (lane === 'bulk') yieldProcessor();
  const logger = createLogger(logLevel);
  await using opening = new AsyncDisposableStack();
  const traces = await openTraces(settings, logger, opening);
  const db = openStoringDatabase(databaseUrl, logLostConnections(logger));
  opening.defer(closing(logger, 'database of the worker', () => db.destroy()));
  const giveUp = new AbortController();
  const worker = startDeliveryWorker(locate(settings), storeWith(db, logger, giveUp.signal, traces), logger, {
    lane,
    telemetry: traces?.telemetry,
    onNewer: (version) => report({ kind: 'newer', version }),
  });
  const close = () => {
    giveUp.abort();
    return worker.close();
  };
  opening.defer(closing(logger, 'worker', close));
  // On Redis the worker waits for as long as it takes.
  if (settings.location.kind === 'postgres') await worker.ready;
  return { db, logger, opened: opening.move() };
}

async function openTraces(
  { traces: wanted, role }: LaneSettings,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<Traces | undefined> {
  if (wanted === undefined) return undefined;
  const traces = await startTraces({ ...wanted, version: packageJson.version, role, logger });
  opened.defer(closing(logger, 'traces of the worker', () => traces.stop()));
  return traces;
}

function locate({ location, installation, dataDir }: LaneSettings): QueueLocation {
  if (location.kind === 'postgres' || installation === undefined) return location;
  const identity = createIdentity(dataDir, true);
  identity.learn(installation, 'database');
  return { ...location, identity };
}

function storeWith(db: Db, logger: Logger, giveUp: AbortSignal, traces: Traces | undefined): StoreBatch {
  const store = createBatchStore(db, logger, giveUp, {
    onStored: (rows, seconds) => report({ kind: 'stored', stored: sumStored(rows), seconds }),
    onWaiting: (reason) => report({ kind: 'waiting', reason }),
  });
  return async (batch) => {
    report({ kind: 'began' });
    try {
      if (traces === undefined) return await store(batch);
      return await traces.store(batch.deliveries, () => store(batch));
    } finally {
      report({ kind: 'ended' });
    }
  };
}
